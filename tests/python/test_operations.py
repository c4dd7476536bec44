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
    (NotImplementedError, "ops.mean: over axis=1", lambda x: ops.mean(x, axis=1)),
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
