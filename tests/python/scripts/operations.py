"""Operators and functions on the tensors of a network, merging layers, and one model of each that is trained."""
import keras
import numpy as np
from keras import layers, ops

rng = np.random.default_rng(42)
x, rows = rng.normal(0, 1, (6, 4, 4, 3)).astype("float32"), rng.normal(0, 1, (6, 8)).astype("float32")

pictures = {
    "arithmetic": lambda t: (2 * t + 1 - t / 4) * 0.5,
    "reversed": lambda t: 1 - (-t),
    "of two": lambda t: t * ops.relu(t) - t,
    "divided": lambda t: ops.true_divide(t, t * t + 1) + 2 / ops.exp(t) + ops.divide(1, ops.exp(t) + 1),
    "functions": lambda t: ops.exp(t) + ops.log(ops.absolute(t) + 0.5) * ops.sqrt(ops.square(t) + 0.1),
    "inverses": lambda t: 1 / (t ** 2 + 0.5) - 3 / (t ** 2 + 1) + ops.reciprocal(t * t + 1) * ops.rsqrt(t * t + 2),
    "roots": lambda t: (t ** 2 + 1) ** 0.5 + (t ** 2 + 1) ** -1,
    "repeated": lambda t: t / (ops.sum(ops.exp(t), axis=-1, keepdims=True)),
    "absolute": lambda t: ops.absolute(t) + abs(t),
    "square": lambda t: ops.square(t) + t ** 2,
    "maximum": lambda t: ops.maximum(t, 0.3) + ops.maximum(t, -t),
    "minimum": lambda t: ops.minimum(t, 0.3) + ops.minimum(t, 2 * t),
    "clip": lambda t: ops.clip(t, -0.5, 1.5),
    "reshape": lambda t: ops.reshape(t, (-1, 12, 4)),
    "axes": lambda t: ops.squeeze(ops.expand_dims(ops.mean(t, axis=(1, 2)), -1), 2),
    "mean": lambda t: ops.mean(t, axis=(1, 3)),
    "sum": lambda t: ops.sum(t, axis=1, keepdims=True) - ops.sum(t, axis=(2, 1), keepdims=True),
    "max": lambda t: ops.max(t, axis=-1),
    "min": lambda t: ops.min(t, axis=(2, 3)), "pad": lambda t: ops.pad(t, ((0, 0), (1, 0), (0, 2), (3, 1))),
    "matmul": lambda t: ops.reshape(t, (-1, 12, 4)) @ ops.reshape(t * 2, (-1, 4, 12)),
    "concatenate": lambda t: ops.concatenate([t, ops.negative(t)], axis=2),
    "stack": lambda t: ops.stack([ops.reshape(t, (-1, 48)), ops.reshape(t * 3, (-1, 48))], axis=-1),
    "activations": lambda t: ops.sigmoid(t) + ops.tanh(t) + ops.softmax(t) + ops.silu(t) + ops.elu(t) + ops.leaky_relu(t, 0.1),
    "limited": lambda t: ops.relu6(4 * t) + ops.hard_sigmoid(2 * t) + ops.hard_silu(t) + ops.hard_swish(t) + ops.hard_tanh(t),
    "smooth": lambda t: ops.celu(t, 0.7) + ops.selu(t) + ops.softplus(t) * ops.softsign(t) - ops.log_sigmoid(t) + ops.squareplus(t, 2),
    "sparse": lambda t: ops.hard_shrink(t, 0.3) + ops.soft_shrink(t) + ops.sparse_plus(t) - ops.sparse_sigmoid(t) * ops.tanh_shrink(t),
    "thresholds": lambda t: ops.threshold(t, 0.4, -2) + keras.activations.relu(t, 0.1, 1.5, 0.2), "gelu": lambda t: ops.gelu(t) + 2 * ops.gelu(t, False),
    "of rows": lambda t: ops.log_softmax(t) * ops.sparsemax(t) + ops.log_softmax(t, axis=2) - ops.sparsemax(3 * t, axis=1),
    "gated": lambda t: ops.glu(t, axis=1) + ops.glu(keras.activations.leaky_relu(t), axis=1),
    "keras.activations": lambda t: keras.activations.relu(t, negative_slope=0.2) + keras.activations.gelu(t),
    "slices": lambda t: t[:, 1:3] + t[:, ::2] * t[:, -3:-1], "numbers": lambda t: t[:, 0] - t[..., -1, :],
    "new axes": lambda t: t[:, None, 2, ..., 1], "behind": lambda t: t[:, 1:99, ..., None],
    "transpose": lambda t: ops.transpose(t, (0, 3, 1, 2)), "moved": lambda t: ops.moveaxis(ops.swapaxes(t, 1, 3), -1, 1),
    "split": lambda t: ops.concatenate(ops.split(t, 2, axis=1)[::-1] + ops.split(t, [1, 3], axis=1), axis=2 - 1),
    "unstack": lambda t: ops.stack(ops.unstack(t, axis=2)[1:3], axis=1), "take": lambda t: ops.take(t, -2, axis=1),
    "of many": lambda t: ops.matmul(t, ops.transpose(t, (0, 1, 3, 2))),
    "arrays": lambda t: ops.subtract(np.full((4, 1, 1), 0.5), t * np.array([1, -2, 0.5])) / np.arange(1.0, 5)[:, None],
    "array first": lambda t: ops.maximum(np.ones((1, 4, 4, 1)), t) - ops.true_divide(np.arange(3.0), t * t + 1),
    "compared": lambda t: (t > 0) * 2.0 + (t <= np.array([0.5, 0, -0.5])) * t - ops.where(ops.not_equal(t, t), 1.0, t),
    "chosen": lambda t: ops.where(ops.equal(t, t), t, 0.0) + ops.where(ops.greater(t, 0.1), t * t, ops.where(ops.less(-0.5, t), 3.0, t))
    + ops.where(ops.greater_equal(t, np.array([0.3, 0, -1])), 0.0, ops.where(ops.less_equal(t, 0.0), t, 1.0)),
    "where": lambda t: ops.where([[True], [False], [True], [True]], t, ops.where(t < 0.2, t * t, np.arange(3.0))),
    "matrices": lambda t: ops.matmul(np.arange(8.0).reshape(2, 4), t @ np.array([[1, 0.5], [-1, 2], [0, 3]])),
    "padded": lambda t: ops.pad(t, [[0, 0], [1, 0], [0, 2], [0, 1]], constant_values=2.5),
    "names": lambda t: [tensor._keras_history.operation.name.rstrip("0123456789_") for tensor in (
        t + t, t * 2, 2 - t, t / 2, -t, abs(t), t[:, 0], t[:, 1], ops.square(t), ops.clip(t, 0, 1), ops.relu(t), ops.mean(t, axis=1),
        ops.expand_dims(t, 1), ops.pad(t, ((0, 0), (1, 1), (0, 0), (0, 0))), ops.maximum(t, 1), ops.softmax(t))],
    "add": lambda t: layers.add([t, t, t]), "subtract": lambda t: layers.subtract([t, 2 * t]),
    "multiply": lambda t: layers.multiply([t, t + 1]), "average": lambda t: layers.average([t, -3 * t]),
    "greatest": lambda t: layers.maximum([t, -t, 0.5 * t]), "least": lambda t: layers.minimum([t, -t]),
    "channels": lambda t: layers.concatenate([t, t * t], axis=-1), "rows": lambda t: layers.Concatenate(axis=1)([t, t]),
    "dot": lambda t: layers.Dot(axes=(2, 1))([ops.reshape(t, (-1, 16, 3)), ops.reshape(2 * t, (-1, 3, 16))]),
    "cosine": lambda t: layers.dot([ops.reshape(t, (-1, 16, 3)), ops.reshape(t + 1, (-1, 16, 3))], axes=1, normalize=True),
    "gate": lambda t: layers.Multiply()([t, layers.GlobalAveragePooling2D(keepdims=True)(t)]),
}
results = {}
for name, function in pictures.items():
    begin = keras.Input((4, 4, 3))
    made = function(begin)
    results[name] = made if isinstance(made, list) else keras.Model(begin, made).predict(x, verbose=0)

begin = keras.Input((8,))
left = layers.Dense(6, activation="tanh", name="left")(begin)
right = layers.Dense(6, name="right")(begin) / 2
merged = layers.Concatenate()([layers.Subtract()([left, right]), layers.Maximum()([left, right]), left * right + 0.1])
merged = merged / ops.sqrt(ops.exp(merged) + 1) + ops.log(1 + merged ** 2)
model = keras.Model(begin, layers.Dense(1, name="out")(layers.Minimum()([merged, 2 - merged])))
model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile("sgd", "mse")
results["loss"] = model.fit(rows, rng.normal(0, 1, 6), batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"]
results["weights"] = model.get_weights()
results["arrays"] = [np.asarray(ops.add(rows, 1)), np.asarray(ops.maximum(rows, 0.2)), np.asarray(ops.reshape(rows, (-1, 4))),
                     np.asarray(ops.concatenate([rows, rows], axis=1)), np.asarray(ops.clip(rows, -1, 1))]
