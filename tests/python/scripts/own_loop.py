"""A loop of one's own over train_on_batch, test_on_batch and predict_on_batch."""
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(31)
x, y = rng.random((60, 7), np.float32), rng.integers(0, 4, 60)

model = keras.Sequential([keras.Input((7,)), layers.Dense(12, activation="tanh"),
                          layers.Dense(4, activation="softmax")])
model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])

trained, tested = [], []
for epoch in range(3):
    model.reset_metrics()
    for begin in range(0, 60, 20):
        trained.append(model.train_on_batch(x[begin:begin + 20], y[begin:begin + 20]))
    model.reset_metrics()
    tested.append(model.test_on_batch(x[:30], y[:30]))
model.reset_metrics()
named = model.train_on_batch(x, y, return_dict=True)
outputs = model.predict_on_batch(x[:5])

results = {"trained": trained, "tested": tested, "named": dict(named), "outputs": np.asarray(outputs),
           "called": np.asarray(model(x[5:9])), "weights": model.get_weights()}
