"""Every initializer's configuration and what weights of it are like."""
import numpy as np
import keras
from keras import initializers, layers

results = {}
for given in (initializers.Zeros(), initializers.Ones(), initializers.Constant(0.25), "zeros", "ones",
              initializers.Constant(value=-2.0)):
    model = keras.Sequential([keras.Input((5,)), layers.Dense(4, kernel_initializer=given, bias_initializer=given)])
    results[f"values {len(results)}"] = [model.layers[0].get_weights(), model.predict(np.ones((2, 5)), verbose=0)]

for given in (initializers.GlorotUniform(), initializers.GlorotNormal(), initializers.HeUniform(),
              initializers.HeNormal(), "glorot_uniform", "glorot_normal", "he_uniform", "he_normal"):
    model = keras.Sequential([keras.Input((300,)), layers.Dense(200, kernel_initializer=given)])
    kernel = model.layers[0].get_weights()[0]
    found = initializers.get(given)
    config = found.get_config()
    limit = np.sqrt(6 / 500) if "lorot" in type(found).__name__ else np.sqrt(6 / 300)
    uniform = "Uniform" in type(found).__name__
    spread = limit / np.sqrt(3)  # of a uniform one's; both kinds have this variance
    largest = limit * (1 + 1e-6) if uniform else 2.3 * spread  # Keras's uniform ones may round up to past the limit
    results[type(found).__name__ + str(len(results))] = {
        "in bounds": bool(np.abs(kernel).max() <= largest),
        "as wide": round(float(kernel.std() / spread), 1), "even": bool(abs(kernel.mean()) < spread / 50),
        "config": {key: config[key] for key in ("seed",)}}

conv = layers.Conv2D(3, 2, kernel_initializer="he_normal", bias_initializer=initializers.Constant(0.5))
config = conv.get_config()
results["layer"] = [config["kernel_initializer"]["class_name"], config["bias_initializer"]["config"]["value"]]
