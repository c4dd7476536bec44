"""Dropout is left out of evaluation and prediction; a rate of 0 leaves training as it is."""
import numpy as np
import keras
from keras.layers import Dense, Dropout

rng = np.random.default_rng(7)
x, y = rng.random((50, 12), np.float32), rng.integers(0, 2, 50)


def make(rate):
    model = keras.Sequential([keras.Input((12,)), Dense(9, "relu"), Dropout(rate), Dense(1, "sigmoid")])
    drawn = np.random.default_rng(70)
    model.set_weights([drawn.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


model = make(0.5)
results = {"evaluated": model.evaluate(x, y, verbose=0), "outputs": model.predict(x, verbose=0),
           "called": np.asarray(model(x[:4], training=False)), "config": model.layers[1].get_config()["rate"]}
trained = make(0.0).fit(x, y, epochs=2, shuffle=False, verbose=0)
results["trained"] = trained.history

images = rng.random((4, 5, 6, 3), np.float32)
for layer in (keras.layers.SpatialDropout1D(0.3), keras.layers.SpatialDropout2D(0.3), keras.layers.AlphaDropout(0.2, noise_shape=(None, 1)),
              keras.layers.GaussianDropout(0.3)):
    shape = {"SpatialDropout1D": (30, 3), "SpatialDropout2D": (5, 6, 3)}.get(type(layer).__name__, (90,))
    model = keras.Sequential([keras.Input(shape), layer])
    results[type(layer).__name__] = model.predict(images.reshape(4, *shape), verbose=0)
    results[type(layer).__name__ + " rate"] = layer.get_config()["rate"]
model = keras.Sequential([keras.Input((90,)), keras.layers.GaussianNoise(0.1), keras.layers.Dense(1, kernel_initializer="ones"),
                          keras.layers.GaussianNoise(0.0)])
results["noise"] = model.predict(images.reshape(4, 90), verbose=0)
results["noise stddev"] = model.layers[0].get_config()["stddev"]
