"""keras.ops and operators on tensors of a network. tests/python/scripts/operations.py compares their numbers with Keras's."""
import numpy as np
import pytest

import cornu as tf
from cornu import keras
from cornu.keras import layers, ops

X = np.random.default_rng(1).normal(size=(4, 6)).astype("float32")


@pytest.mark.parametrize("function", [
    lambda x: 1 + x, lambda x: x - np.float32(2), lambda x: 3 - x, lambda x: np.float64(2) * x, lambda x: x / 4, lambda x: -abs(x),
    lambda x: np.ones(1) + x, lambda x: x**2])
def test_an_operator_is_a_layer(function):
    begin = keras.Input((6,))
    end = function(begin)
    assert isinstance(end, keras.KerasTensor)
    assert np.allclose(keras.Model(begin, end).predict(X, verbose=0), function(X), atol=1e-6)


REDUCTIONS = {
    "last": lambda o, x: [o.mean(x, axis=-1), o.sum(x, axis=3), o.max(x, axis=3, keepdims=True), o.min(x, axis=-1)],
    "first": lambda o, x: [o.mean(x, axis=1), o.sum(x, axis=1, keepdims=True), o.max(x, axis=1), o.min(x, axis=1)],
    "pictures": lambda o, x: [o.mean(x, axis=(1, 2)), o.sum(x, axis=(2, 1)), o.max(x, axis=(1, 2)), o.min(x, axis=(1, 2))],
    "apart": lambda o, x: [o.mean(x, axis=(1, 3)), o.sum(x, axis=(-1, 1)), o.max(x, axis=(1, 3), keepdims=True),
                           o.min(x, axis=(3, 1))],
    "all": lambda o, x: [o.mean(x, axis=(1, 2, 3), keepdims=True), o.sum(x, axis=(1, 2, 3), keepdims=True),
                         o.max(x, axis=(-1, -2, -3), keepdims=True), o.min(x, axis=(1, 2, 3), keepdims=True)],
    "pad": lambda o, x: [o.pad(x, ((0, 0), (1, 0), (0, 2), (3, 1))), o.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))],
    "matmul": lambda o, x: [o.matmul(o.reshape(x, (-1, 12, 5)), o.reshape(x, (-1, 5, 12)))],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_padding_and_products_are_layers(name):
    x = np.random.default_rng(2).normal(size=(7, 3, 4, 5)).astype("float32")
    begin = keras.Input((3, 4, 5))
    for number, expected in enumerate(REDUCTIONS[name](np, x)):
        end = REDUCTIONS[name](ops, begin)[number]
        assert end.shape[1:] == expected.shape[1:]
        assert np.allclose(keras.Model(begin, end).predict(x, verbose=0), expected, atol=1e-5)
        assert np.allclose(REDUCTIONS[name](ops, x)[number], expected)


def test_a_network_of_reductions_trains_and_is_exported(tmp_path):
    begin = keras.Input((4, 6))
    x = layers.Dense(5)(begin)
    end = layers.Concatenate()([ops.mean(x, axis=1), ops.max(x, axis=1), ops.sum(x, axis=-1)])
    model = keras.Model(begin, end)
    model.compile("sgd", "mse")
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(32, 4, 6)).astype("float32")
    losses = model.fit(samples, np.zeros((32, 14)), epochs=5, verbose=0).history["loss"]
    assert losses == sorted(losses, reverse=True)
    model.save(tmp_path / "net.keras")
    assert np.array_equal(keras.models.load_model(tmp_path / "net.keras").predict(samples, verbose=0), model.predict(samples, verbose=0))
    model.export(tmp_path / "net.onnx", format="onnx")


def test_activations_take_tensors():
    begin = keras.Input((6,))
    for relu in (keras.activations.relu, ops.relu, tf.nn.relu):
        assert np.array_equal(keras.Model(begin, relu(begin)).predict(X, verbose=0), np.maximum(X, 0))
        assert np.array_equal(relu(X), np.maximum(X, 0))
    assert isinstance(begin._keras_history.operation, layers.InputLayer)
    assert layers.Dense(2, activation=keras.activations.relu).get_config()["activation"] == "relu"


def test_a_network_of_operations_is_kept_in_files(tmp_path):
    begin = keras.Input((6,))
    model = keras.Model(begin, layers.Dense(2)(ops.concatenate([begin * 2, 1 - begin], axis=-1)))
    model.save(tmp_path / "model.keras")
    assert np.array_equal(keras.models.load_model(tmp_path / "model.keras").predict(X, verbose=0), model.predict(X, verbose=0))


@pytest.mark.parametrize("error, text, use", [
    (NotImplementedError, r"ops.add: a constant of shape \(3,\)", lambda x: x + np.ones(3)),
    (NotImplementedError, "divide: of two tensors", lambda x: x / x),
    (NotImplementedError, "a number over a tensor", lambda x: 1 / x),
    (ValueError, "0 as the divisor", lambda x: x / 0),
    (NotImplementedError, "the power 3", lambda x: x**3),
    (NotImplementedError, "ops.einsum is not in cornu", lambda x: ops.einsum),
    (ValueError, "Mean.: found an output of one number for input .None, 6.; expected at least one axis besides the batch",
     lambda x: ops.mean(x, axis=1)),
    (ValueError, "ops.subtract: found tensors of shapes .None, 6. and .None, 1, 6.; expected equal numbers of axes",
     lambda x: x - ops.expand_dims(x, 1)),
    (NotImplementedError, "ops.sum: over axis=None", lambda x: ops.sum(x)),
    (ValueError, r"Sum.: found axis 1 of input \(None, 6\) twice; expected each once",
     lambda x: ops.sum(x, axis=(1, -1), keepdims=True)),
    (ValueError, "Max.: found axis 0 .*0 is the batch", lambda x: ops.max(x, axis=(0, 1))),
    (NotImplementedError, "Min: initial=3", lambda x: ops.min(x, axis=1, keepdims=True, initial=3)),
    (ValueError, r"Matmul.: found inputs \(None, 6\) and \(None, 6\); expected .batch, ..., rows, n.", lambda x: x @ x),
    (NotImplementedError, "ops.matmul: of a ndarray", lambda x: ops.matmul(np.ones((6, 6)), x)),
    (ValueError, r"Matmul.: found inputs \(None, 2, 3\) and \(None, 2, 3\)", lambda x: ops.reshape(x, (-1, 2, 3)) @ ops.reshape(x, (-1, 2, 3))),
    (NotImplementedError, "ops.pad: mode='reflect'", lambda x: ops.pad(x, 1, mode="reflect")),
    (ValueError, "constant_values 2; expected 0", lambda x: ops.pad(x, ((0, 0), (1, 1)), constant_values=2)),
    (ValueError, r"Pad.: found a pad_width that does not fit input \(None, 6\); .*\[0, 0\] of the batch first", lambda x: ops.pad(x, 1)),
    (ValueError, "0 is the batch", lambda x: ops.concatenate([x, x])),
    (ValueError, "expected -1 first", lambda x: ops.reshape(x, (6,))),
    (ValueError, "of length 6", lambda x: ops.squeeze(x, 1)),
    (NotImplementedError, "approximate=True", lambda x: ops.gelu(x)),
    (ValueError, "Add.*expected equal shapes", lambda x: layers.add([x, keras.Input((5,))])),
    (ValueError, "Subtract.*expected two", lambda x: layers.subtract([x, x, x])),
    (ValueError, "Concatenate.*equal but for axis", lambda x: layers.concatenate([keras.Input((4, 3)), keras.Input((5, 2))])),
])
def test_wrong_uses_say_why(error, text, use):
    with pytest.raises(error, match=text):
        use(keras.Input((6,)))
