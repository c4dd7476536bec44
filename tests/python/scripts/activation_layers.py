"""Activations as layers, as strings and as functions."""
import numpy as np
from keras import Input, Sequential, activations, layers, optimizers

rng = np.random.default_rng(5)
x, y = rng.normal(0, 1, (48, 10)).astype("float32"), rng.random((48, 6)).astype("float32")
kinds = {
    "relu": layers.ReLU(), "leaky": layers.LeakyReLU(negative_slope=0.2), "elu": layers.ELU(alpha=0.7),
    "softmax": layers.Softmax(), "prelu": layers.PReLU(), "one slope": layers.PReLU("ones", shared_axes=[1]), "named": layers.Activation("tanh"), "function": layers.Activation(activations.gelu),
}
for number, options in enumerate(({"max_value": 1.0}, {"threshold": 0.3}, {"negative_slope": 0.1},
                                  {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.3})):
    kinds[f"relu of options {number}"] = layers.ReLU(**options)
alone = ("celu", "exponential", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "log_sigmoid", "mish", "relu6",
         "selu", "soft_shrink", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink")
for name in ("linear", "relu", "leaky_relu", "elu", "gelu", "sigmoid", "tanh", "silu", "swish", "softmax", *alone, "log_softmax", "sparsemax"):
    kinds[f"dense of {name}"] = layers.Dense(6, activation=name)

results = {}
for name, layer in kinds.items():
    model = Sequential([Input((10,)), layers.Dense(8), layer, layers.Dense(6)])
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(optimizers.SGD(1e-5) if "exponential" in name else "sgd", "mse")
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    results[name] = {"loss": history.history["loss"], "outputs": np.asarray(model(x))}
for name in ("linear", "relu", "leaky_relu", "elu", "gelu", "sigmoid", "tanh", "silu", "softmax", "log_softmax", "sparsemax", "glu", *alone):
    results[f"{name} of an array"] = np.asarray(getattr(activations, name)(x))
for name, options in (("relu", {"negative_slope": 0.1, "max_value": 2.0, "threshold": 0.5}), ("elu", {"alpha": 0.5}),
                      ("gelu", {"approximate": True}), ("softmax", {"axis": 0}), ("log_softmax", {"axis": 0}), ("sparsemax", {"axis": 0}), ("celu", {"alpha": 0.5}), ("glu", {"axis": 0}),
                      ("hard_shrink", {"threshold": 1.0}), ("soft_shrink", {"threshold": 1.0}), ("squareplus", {"b": 1}),
                      ("threshold", {"threshold": 0.5, "default_value": -1.0})):
    results[f"{name} with options"] = np.asarray(getattr(activations, name)(x, **options))
results["names"] = [activations.serialize(activations.get(name)) for name in ("relu", "softmax", "linear")]
