"""Batch and layer normalization, in training and after it."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(4)
x, y = rng.random((64, 8, 8, 2), np.float32) * 3, rng.integers(0, 4, 64)

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 2)),
        layers.Conv2D(6, 3, use_bias=False, name="features"),
        layers.BatchNormalization(momentum=0.8, epsilon=1e-2),
        layers.Activation("relu"),
        layers.Conv2D(4, 3),
        layers.BatchNormalization(center=False, scale=False, name="plain"),
        layers.Flatten(),
        layers.LayerNormalization(epsilon=1e-5),
        layers.Dense(4, activation="softmax"),
    ]
)
model.set_weights([np.abs(rng.normal(0, 0.2, w.shape)) + 0.3 for w in model.get_weights()])
model.compile(optimizer=keras.optimizers.SGD(0.02), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, validation_split=0.25, verbose=0)

plain = model.get_layer("plain")
results = {"history": history.history, "outputs": model.predict(x, verbose=0), "weights": model.get_weights(),
           "mean": np.asarray(plain.moving_mean), "variance": np.asarray(plain.moving_variance),
           "counts": [len(model.trainable_weights), len(model.non_trainable_weights), len(plain.weights)]}
