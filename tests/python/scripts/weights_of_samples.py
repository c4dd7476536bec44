"""class_weight and sample_weight: in fit, in validation, in evaluate, on a batch."""
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(22)
x, y = rng.random((64, 6), np.float32), rng.integers(0, 3, 64)
one_hot, weights = keras.utils.to_categorical(y, 3), rng.random(64)


def make(loss="sparse_categorical_crossentropy"):
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3, activation="softmax", kernel_initializer="ones")])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss=loss, metrics=["accuracy"])
    return model


options = dict(epochs=3, batch_size=16, shuffle=False, verbose=0)
model = make()
results = {
    "classes": model.fit(x, y, class_weight={0: 1.0, 1: 5.0, 2: 0.5}, **options).history,
    "rows": make("categorical_crossentropy").fit(x, one_hot, class_weight={0: 2, 1: 1, 2: 0.1}, **options).history,
    "samples": make().fit(x, y, sample_weight=weights, **options).history,
    "validated": make().fit(x, y, sample_weight=weights, **options,
                            validation_data=(x[:24], y[:24], weights[:24])).history,
    "split": make().fit(x, y, sample_weight=weights, validation_split=0.25, **options).history,
    "evaluated": model.evaluate(x, y, sample_weight=weights, verbose=0),
    "a batch": make().train_on_batch(x, y, sample_weight=weights),
    "a batch of classes": make().train_on_batch(x, y, class_weight={0: 1.0, 1: 3.0, 2: 1.0}),
}
model = make("categorical_crossentropy")
model.compile("sgd", "categorical_crossentropy", metrics=["accuracy", "mae"], weighted_metrics=[
    "accuracy", keras.metrics.RootMeanSquaredError(name="root"), keras.metrics.AUC(name="auc"),
    keras.metrics.Precision(0.3, name="right"), keras.metrics.F1Score("macro", name="f")])
results |= {
    "weighed": model.fit(x, one_hot, sample_weight=weights, validation_split=0.25, **options).history,
    "weighed evaluated": model.evaluate(x, one_hot, sample_weight=weights, verbose=0, return_dict=True),
    "weighed equally": model.evaluate(x, one_hot, verbose=0, return_dict=True),
}
counts = [keras.metrics.TruePositives([0.3, 0.6], name="a"), keras.metrics.TrueNegatives([0.6, 0.3], name="b"),
          keras.metrics.FalsePositives([0.3, 0.6], name="c"), keras.metrics.FalseNegatives([0.3, 0.6], name="d")]
model.compile("sgd", "categorical_crossentropy", weighted_metrics=counts)
results["counted"] = model.evaluate(x, one_hot, sample_weight=weights, verbose=0, return_dict=True)
