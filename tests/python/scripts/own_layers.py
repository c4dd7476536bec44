"""Lambda, and layers of one's own that are made of layers and keras.ops."""
import numpy as np
import keras
from keras import layers, ops

rng = np.random.default_rng(54)
x, y = rng.normal(0, 1, (32, 8)).astype("float32"), rng.normal(0, 1, (32, 2)).astype("float32")


class Residual(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(units, activation="tanh")
        self.norm = layers.LayerNormalization()

    def build(self, input_shape):
        self.last = layers.Dense(input_shape[-1])
        super().build(input_shape)

    def call(self, inputs, training=None):
        inner = self.norm(self.first(inputs))
        return inputs + 0.5 * self.last(inner)


class Linear(layers.Layer):
    """With weights of its own."""

    def __init__(self, units=32, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True, name="w",
                                 regularizer=keras.regularizers.L2(0.01))
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True, name="b")

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b


class Gated(layers.Layer):
    """Of two kernels, one of them without a bias, and of a layer within."""

    def build(self, input_shape):
        self.linear = Linear(input_shape[-1])
        self.gate = self.add_weight((input_shape[-1], input_shape[-1]), constraint="max_norm")
        self.slope = self.add_weight((input_shape[-1], input_shape[-1]), "he_normal")
        self.shift = self.add_weight((input_shape[-1],), "ones")

    def call(self, inputs):
        return ops.sigmoid(inputs @ self.gate) * ops.relu(ops.add(inputs @ self.slope, self.shift)) + self.linear(inputs)


class Affine(layers.Layer):
    """A scale of each element and a shift of each feature."""

    def build(self, input_shape):
        self.scale = self.add_weight(input_shape[1:], initializer="ones", name="scale", regularizer="l2")
        self.shift = self.add_weight((input_shape[-1],), initializer="zeros", name="shift")

    def call(self, inputs):
        return self.scale * inputs + self.shift


class Rows(layers.Layer):
    """Of a table that is not trained, by numbers; and a scale of them."""

    def build(self, input_shape):
        self.table = self.add_weight((5, 3), initializer="random_normal", trainable=False, name="table")

    def call(self, inputs):
        return ops.take(self.table, ops.cast(inputs, "int32"), axis=0)


class Positions(layers.Layer):
    """A row before the others, places of all, and a scale and a shift by one number."""

    def build(self, input_shape):
        self.first = self.add_weight((1, 1, input_shape[-1]), initializer="random_normal", name="first")
        self.fixed = self.add_weight((), trainable=False, initializer="ones", name="fixed")
        self.places = self.add_weight((input_shape[1] + 1, input_shape[-1]), initializer="random_normal", name="places", regularizer="l2")
        self.gain = self.add_weight((), initializer="ones", name="gain")
        self.rows = self.add_weight((input_shape[1] + 1, input_shape[1] + 1), initializer="orthogonal", name="rows")
        self.last = layers.Dense(input_shape[-1])

    def call(self, inputs):
        first = ops.broadcast_to(self.first, (ops.shape(inputs)[0], 1, inputs.shape[-1]))
        x = ops.concatenate([first, inputs], axis=1) + self.places
        return self.last(ops.matmul(self.rows, x) * self.gain - self.fixed) / (1.0 + ops.square(self.places))


class Mixed(layers.Layer):
    def call(self, inputs):
        first, second = inputs
        return ops.concatenate([first * second, ops.maximum(first, second)], axis=-1)


def filled(model):
    draw = np.random.default_rng(55)
    model.set_weights([draw.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


chain = filled(keras.Sequential([keras.Input((8,)), layers.Lambda(lambda t: ops.square(t) - 1.0, name="squares"),
                                 Residual(5, name="residual"), layers.Dense(2)]))
begin = keras.Input((8,))
halves = [begin[:, :4], begin[:, 4:]]
branched = filled(keras.Model(begin, layers.Dense(2)(Mixed(name="mixed")([layers.Dense(3)(half) for half in halves]))))
weighted = filled(keras.Sequential([keras.Input((8,)), Linear(6, name="linear"), layers.ReLU(name="relu"), Gated(name="gated"),
                                    Linear(2, name="last")]))
scaled = filled(keras.Sequential([keras.Input((8,)), layers.Reshape((2, 4), name="rows"), Affine(name="affine"), layers.Flatten(name="flat"), layers.Dense(2)]))
looked_up = filled(keras.Sequential([keras.Input((8,)), layers.Lambda(lambda t: 2 + 2 * ops.tanh(t), name="numbers"), Rows(name="rows"),
                                     Affine(name="affine"), layers.Flatten(name="flat"), layers.Dense(2)]))
placed = filled(keras.Sequential([keras.Input((8,)), layers.Reshape((4, 2), name="rows"), Positions(name="positions"), layers.Flatten(name="flat"),
                                  layers.Dense(2)]))
results = {"trained": [[w.shape for w in model.trainable_weights] for model in (scaled, looked_up, placed)]}
for name, model in (("chain", chain), ("branched", branched), ("weighted", weighted), ("scaled", scaled), ("looked up", looked_up),
                    ("placed", placed)):
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history
    results[name] = [history, model.predict(x, verbose=0), [w.shape for w in model.get_weights()], model.count_params(),
                     [layer.name for layer in model.layers if not layer.name.startswith(("dense", "input", "get_item"))]]
    results[f"{name} weights"] = model.get_weights()
