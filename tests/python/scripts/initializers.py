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

# name: initializer, its mean, its spread, the farthest from the mean
cut, infinite = 0.87962566, np.inf
others = {
    "lecun normal": (initializers.LecunNormal(), 0, 300**-0.5, 2 * 300**-0.5 / cut),
    "lecun uniform": (initializers.LecunUniform(seed=1), 0, 300**-0.5, 0.1),
    "scaled": (initializers.VarianceScaling(3.0, "fan_out", "uniform"), 0, 0.015**0.5, 0.045**0.5),
    "scaled, normal": (initializers.VarianceScaling(mode="fan_avg", distribution="untruncated_normal"), 0, 250**-0.5,
                       infinite),
    "normal": (initializers.RandomNormal(0.5, 2.0), 0.5, 2, infinite),
    "normal by name": ("random_normal", 0, 0.05, infinite),
    "truncated": (initializers.TruncatedNormal(mean=-1.0, stddev=0.5), -1, 0.5 * cut, 1),
    "uniform": (initializers.RandomUniform(minval=-1.0, maxval=3.0, seed=2), 1, 4 / 12**0.5, 2),
    "orthogonal": (initializers.Orthogonal(gain=2.0), 0, 2 * 300**-0.5, infinite),
}
for name, (given, mean, spread, farthest) in others.items():
    kernel = keras.Sequential([keras.Input((300,)), layers.Dense(200, kernel_initializer=given)]).get_weights()[0]
    product = kernel.T @ kernel
    results[name] = {
        "in bounds": bool(np.abs(kernel - mean).max() <= farthest * (1 + 1e-6)),
        "as far": bool(np.abs(kernel - mean).max() > (0.98 * farthest if farthest < infinite else 3.5 * spread)),
        "as wide": bool(abs(kernel.std() / spread - 1) < 0.015), "around": bool(abs(kernel.mean() - mean) < spread / 50),
        "orthogonal": bool(np.abs(product - np.diag(np.diag(product))).max() < 1e-4),
        "config": dict(sorted(initializers.get(given).get_config().items()))}
for name, initializer, shape in (("wide", "identity", (3, 4)), ("high", initializers.Identity(gain=2.5), (4, 3))):
    model = keras.Sequential([keras.Input(shape[:1]), layers.Dense(shape[1], kernel_initializer=initializer)])
    results[f"identity, {name}"] = model.get_weights()
constant = initializers.Constant(0.5)
results["called"] = [constant((2, 3)), initializers.Identity(3.0)(shape=(2, 2)), initializers.Ones()((4,), dtype="float32")]
orthogonal = initializers.Orthogonal(seed=1)
drawn = np.array(orthogonal((4, 6)))
results["drawn"] = {"orthogonal": drawn @ drawn.T, "again the same": bool(np.array_equal(drawn, orthogonal((4, 6))))}
results["names"] = [type(initializers.get(name)).__name__ for name in (
    "orthogonal", "Orthogonal", "identity", "truncated_normal", "random_uniform", "variance_scaling", "lecun_uniform")]
results["other names"] = [initializers.OrthogonalInitializer.__name__, initializers.IdentityInitializer(2.0).gain]

conv = layers.Conv2D(3, 2, kernel_initializer="he_normal", bias_initializer=initializers.Constant(0.5))
config = conv.get_config()
results["layer"] = [config["kernel_initializer"]["class_name"], config["bias_initializer"]["config"]["value"]]
