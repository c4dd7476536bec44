"""Losses of one's own: functions and classes of keras.ops, of each sample and of whole batches, beside Keras's."""
import numpy as np
import keras
from keras import layers, losses, ops

rng = np.random.default_rng(51)
x = rng.normal(0, 1, (40, 6)).astype("float32")
y = (1 / (1 + np.exp(-x @ rng.normal(0, 1, (6, 3))))).astype("float32")
numbers = np.argmax(y, 1)
weights = rng.random(40).astype("float32")
start = [rng.normal(0, 0.5, (6, 3)).astype("float32"), np.zeros(3, "float32")]


def squares(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


def root(y_true, y_pred):
    return ops.sqrt(ops.mean(ops.square(y_true - y_pred)))


def dice(y_true, y_pred, smooth=1.0):
    true, predicted = ops.reshape(y_true, (-1,)), ops.reshape(y_pred, [-1])
    both = ops.sum(true * predicted)
    return 1 - (2 * both + smooth) / (ops.sum(true) + ops.sum(predicted) + smooth)


def mixed(y_true, y_pred):
    cubes = ops.abs(y_true - y_pred) ** 3
    return losses.mean_absolute_error(y_true, y_pred) + 0.5 * ops.max(cubes, axis=-1) - 0.1 * ops.log(1 + ops.mean(y_pred))


def of_class(y_true, y_pred):
    return (1 - ops.exp(-losses.sparse_categorical_crossentropy(y_true, y_pred))) ** 2


@keras.saving.register_keras_serializable(package="Own")
class Bent(losses.Loss):
    def __init__(self, delta=0.2, name="bent", **kwargs):
        super().__init__(name=name, **kwargs)
        self.delta = delta

    def call(self, y_true, y_pred):
        size = ops.abs(y_true - y_pred)
        return ops.mean(ops.where(size < self.delta, 0.5 * size * size, self.delta * (size - 0.5 * self.delta)), axis=-1)

    def get_config(self):
        return {**super().get_config(), "delta": self.delta}


class Each(losses.Loss):
    """A number for each element."""

    def call(self, y_true, y_pred):
        return ops.square(y_true - y_pred)


def model_of(activation):
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3, activation=activation)])
    model.set_weights(start)
    return model


results = {}
for loss in (squares, root, dice, mixed, Bent(), Bent(0.5, reduction="sum"), Each(), Each(reduction="sum"), losses.Huber(0.3)):
    model = model_of("sigmoid")
    model.compile(keras.optimizers.SGD(0.1), loss, metrics=["mae"])
    plain = loss is dice or isinstance(loss, Each)
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0, sample_weight=None if plain else weights,
                        validation_data=(x[:8], y[:8]))
    results[str(len(results))] = [history.history, model.evaluate(x, y, verbose=0), model.get_weights()]

model = model_of("softmax")
model.compile("adam", of_class, metrics=["accuracy"])
results["classes"] = [model.fit(x, numbers, batch_size=16, epochs=2, shuffle=False, verbose=0).history,
                      model.train_on_batch(x[:5], numbers[:5])]

begin = keras.Input((6,))
both = keras.Model(begin, {"a": layers.Dense(3, activation="sigmoid", kernel_initializer="ones", name="a")(begin),
                           "b": layers.Dense(1, kernel_initializer="ones", name="b")(begin)})
both.compile("sgd", {"a": squares, "b": "mse"}, loss_weights={"a": 2.0, "b": 0.5})
results["several"] = both.fit(x, {"a": y, "b": y[:, :1]}, batch_size=20, epochs=2, shuffle=False, verbose=0).history
again = Bent.from_config(Bent(0.4).get_config())
results["arrays"] = [again(y, y[::-1]), losses.get(squares) is squares, again.name, again.delta,
                     Bent(reduction=None)(y[:3], y[3:6])]
