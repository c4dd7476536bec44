"""1-D convolution on signals: waves of three frequencies in noise, standardized, told apart."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(58)
count, length = 72, 48
kinds = rng.integers(0, 3, count)
time = np.arange(length) / length
phase = rng.uniform(0, 2 * np.pi, (count, 1))
waves = np.sin(2 * np.pi * np.array([2, 4, 7])[kinds][:, None] * time + phase) + rng.normal(0, 0.3, (count, length))
slopes = np.gradient(waves, axis=1)
signals = np.stack([waves, slopes * 8], axis=-1).astype("float32")
signals = (signals - signals.mean((0, 1))) / signals.std((0, 1))
train, held = slice(0, 54), slice(54, None)

model = keras.Sequential([
    keras.Input((length, 2)),
    layers.Conv1D(8, 7, padding="same", activation="relu", name="wide"),
    layers.MaxPooling1D(2),
    layers.Conv1D(12, 5, padding="causal", activation="relu", name="causal"),
    layers.BatchNormalization(),
    layers.AveragePooling1D(2),
    layers.SeparableConv1D(16, 3, activation="relu", name="separable"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(3, activation="softmax"),
])
model.set_weights([np.abs(rng.normal(0, 0.2, w.shape)) + (0.5 if w.ndim == 1 and number in (6, 7) else 0) if w.ndim == 1
                   else rng.normal(0, 0.3, w.shape) for number, w in enumerate(model.get_weights())])
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
rates = keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=0.05)
history = model.fit(signals[train], kinds[train], batch_size=9, epochs=4, shuffle=False, verbose=0, callbacks=[rates],
                    validation_data=(signals[held], kinds[held]))
inner = keras.Model(model.inputs, model.get_layer("separable").output)
results = {"history": history.history, "held": model.evaluate(signals[held], kinds[held], verbose=0),
           "predicted": model.predict(signals[held], verbose=0), "inner": inner.predict(signals[:3], verbose=0),
           "shapes": [list(w.shape) for w in model.get_weights()], "parameters": model.count_params()}
