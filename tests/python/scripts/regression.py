"""Fuel from weights and the like: scaled columns, two hidden layers, a number for each sample."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(25)
features = rng.normal([3, 150, 2800], [1, 40, 600], (120, 3))
fuel = 40 - 0.005 * features[:, 2] - 0.03 * features[:, 1] + rng.normal(0, 1, 120)
train = (features - features.mean(axis=0)) / features.std(axis=0)


def build_and_compile_model():
    model = keras.Sequential([
        layers.Dense(16, activation="relu", input_shape=[3]),
        layers.Dense(16, activation="relu"),
        layers.Dense(1),
    ])
    drawn = np.random.default_rng(250)
    model.set_weights([drawn.normal(0, 0.3, w.shape) for w in model.get_weights()])
    model.compile(loss="mean_absolute_error", optimizer=keras.optimizers.Adam(0.001))
    return model


model = build_and_compile_model()
history = model.fit(train, fuel, validation_split=0.2, verbose=0, epochs=4, shuffle=False)
predictions = model.predict(train[:10]).flatten()

results = {"history": history.history, "predictions": predictions, "error": predictions - fuel[:10],
           "evaluated": model.evaluate(train, fuel, verbose=0)}
