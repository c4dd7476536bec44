"""Models and weights in files: saved, loaded, trained on with the optimizer's state."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(33)
x, y = rng.random((64, 6, 6, 1), np.float32), rng.integers(0, 3, 64)


def create_model():
    model = keras.models.Sequential([keras.layers.Input((6, 6, 1)), layers.Conv2D(4, 3, use_bias=False, name="conv"),
                                     layers.BatchNormalization(), layers.Flatten(),
                                     layers.Dense(3, activation="softmax", name="classes")])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


model = create_model()
model.set_weights([np.abs(rng.normal(0, 0.2, w.shape)) for w in model.get_weights()])
model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0)
model.save("my_model.keras")
model.save_weights("my.weights.h5")

loaded = keras.models.load_model("my_model.keras")
again = keras.saving.load_model("my_model.keras")
other = create_model()
other.load_weights("my.weights.h5")
results = {
    "same": [np.array_equal(a, b) for a, b in zip(model.get_weights(), loaded.get_weights())],
    "outputs": loaded.predict(x, verbose=0), "evaluated": loaded.evaluate(x, y, verbose=0),
    "of weights": other.evaluate(x, y, verbose=0),
    "names": [layer.name for layer in again.layers if layer.name in ("conv", "classes")],
    "continued": loaded.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0).history,
    "as if not saved": model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0).history,
}
