"""Metrics of one's own: functions and classes, in fit, evaluate and batch by batch; metrics as objects by themselves."""
import numpy as np
import keras
from keras import layers, metrics, ops

rng = np.random.default_rng(53)
x = rng.normal(0, 1, (44, 6)).astype("float32")
y = np.argmax(x @ rng.normal(0, 1, (6, 3)), 1)
shares = keras.utils.to_categorical(y, 3)
start = [rng.normal(0, 0.5, (6, 3)).astype("float32"), np.zeros(3, "float32")]


def confidence(y_true, y_pred):
    return ops.mean(ops.max(y_pred, axis=-1))


def distance(y_true, y_pred):
    return ops.sum(ops.abs(ops.cast(y_true, "float32") - y_pred), axis=-1)


class Found(metrics.Metric):
    def __init__(self, number=1, name="found", **kwargs):
        super().__init__(name=name, **kwargs)
        self.number = number
        self.right = self.add_weight(shape=(), initializer="zeros", name="right")
        self.all = self.add_variable(shape=(), initializer="zeros", name="all")

    def update_state(self, y_true, y_pred, sample_weight=None):
        told = ops.equal(ops.argmax(y_pred, axis=-1), self.number)
        true = ops.equal(ops.reshape(ops.cast(y_true, "int64"), (-1,)), self.number)
        self.right.assign_add(ops.sum(ops.cast(ops.logical_and(told, true), self.dtype)))
        self.all.assign(self.all + ops.sum(ops.cast(true, "float32")))

    def result(self):
        return self.right / (self.all + 1e-7)

    def reset_state(self):
        self.right.assign(0.0)
        self.all.assign(0.0)


def model_of():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3, activation="softmax")])
    model.set_weights(start)
    return model


results = {}
model = model_of()
model.compile(keras.optimizers.SGD(0.3), "sparse_categorical_crossentropy", metrics=["accuracy", confidence, Found(), Found(2, "second")])
results["classes"] = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0, validation_data=(x[:20], y[:20])).history
results["tested"] = model.evaluate(x, y, batch_size=10, verbose=0, return_dict=True)
results["batch"] = [model.train_on_batch(x[:7], y[:7], return_dict=True), model.test_on_batch(x[7:30], y[7:30], return_dict=True)]

model = model_of()
model.compile(keras.optimizers.SGD(0.3), "categorical_crossentropy", metrics=[distance, metrics.CategoricalAccuracy()])
results["shares"] = model.fit(x, shares, batch_size=16, epochs=2, shuffle=False, verbose=0, sample_weight=np.abs(x[:, 0])).history
results["tuned"] = [model.evaluate(x, shares, verbose=0), model.metrics_names[0]]

begin = keras.Input((6,))
both = keras.Model(begin, [layers.Dense(3, activation="softmax", kernel_initializer="ones", name="a")(begin),
                           layers.Dense(1, kernel_initializer="ones", name="b")(begin)])
both.compile("sgd", ["sparse_categorical_crossentropy", "mse"], metrics=[[Found()], ["mae", distance]])
results["several"] = both.fit(x, [y, x[:, :1]], batch_size=11, epochs=2, shuffle=False, verbose=0).history

mean, total = metrics.Mean(), metrics.Sum(name="total")
mean.update_state([1.0, 3.0, 8.0], sample_weight=[1.0, 1.0, 0.5])
mean.update_state(4.0)
total.update_state([[1.0, 2.0], [3.0, 4.0]])
predicted = model.predict(x, verbose=0)
alone = [metrics.CategoricalAccuracy(), metrics.MeanSquaredError(), metrics.RootMeanSquaredError(), metrics.Precision(),
         metrics.Recall(thresholds=0.3), metrics.TruePositives(), metrics.FalseNegatives(), metrics.BinaryAccuracy(),
         metrics.CosineSimilarity(), metrics.KLDivergence(), metrics.TopKCategoricalAccuracy(k=2)]
for metric in alone:
    metric.update_state(shares[:30], predicted[:30])
    metric.update_state(shares[30:], predicted[30:])
results["alone"] = [float(mean.result()), float(total.result()), mean.name, total.name, *(float(metric.result()) for metric in alone)]
mean.reset_state()
sparse = metrics.SparseCategoricalAccuracy()
wrapped = metrics.MeanMetricWrapper(distance, name="far")
results["again"] = [float(mean.result()), float(sparse(y, predicted)), float(wrapped(shares, predicted)), wrapped.name]
