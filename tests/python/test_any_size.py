"""Inputs that leave sizes open, as (None, None, 3): scripts/any_size.py compares with Keras."""
import numpy as np
import pytest

from cornu import keras

L = keras.layers
PICTURES = np.random.default_rng(1).random((4, 9, 7, 3), np.float32)


def backbone():
    seen = keras.Input((None, None, 3), name="seen")
    x = L.Conv2D(4, 3, strides=2, activation="relu", name="conv")(seen)
    return keras.Model(seen, L.GlobalAveragePooling2D(name="mean")(L.BatchNormalization(name="norm")(x)), name="backbone")


def test_sizes_come_from_the_model_around():
    inner = backbone()
    assert inner.input_shape == (None, None, None, 3) and inner.get_layer("conv").output.shape == (None, None, None, 4)
    begin = keras.Input((9, 7, 3))
    model = keras.Model(begin, L.Dense(2)(inner(begin)))
    expected = inner.predict(PICTURES, verbose=0) @ model.layers[-1].get_weights()[0]
    assert np.allclose(model.predict(PICTURES, verbose=0), expected, atol=1e-6)
    assert '"batch_shape": [null, null, null, 3]' in model.to_json()


def test_a_chain_of_any_size_is_called_and_copied():
    chain = keras.Sequential([keras.Input((None, 5)), L.Dense(3)])
    assert chain.output_shape == (None, None, 3) and chain(keras.Input((7, 5))).shape == (None, 7, 3)
    same = keras.Sequential.from_config(chain.get_config())
    assert same.input_shape == (None, None, 5) and same.count_params() == 18


def test_training_alone_is_of_one_size():
    model = keras.Sequential([backbone(), L.Dense(1)])
    model.compile("sgd", "mse")
    before = model.get_weights()[0]
    model.fit(PICTURES, np.ones((4, 1)), verbose=0)
    assert not np.array_equal(before, model.get_weights()[0])
    with pytest.raises(NotImplementedError, match=r"shape \(7, 9, 3\), and a training on those of \(9, 7, 3\)"):
        model.predict(PICTURES.swapaxes(1, 2), verbose=0)


def test_another_size_keeps_the_weights():
    model = backbone()
    before = model.predict(PICTURES, verbose=0)
    weights = model.get_weights()
    model.predict(PICTURES[:, :5], verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(weights, model.get_weights()))
    assert np.array_equal(before, model.predict(PICTURES, verbose=0))


@pytest.mark.parametrize("error, text, use", [
    (ValueError, r"found inputs of shapes \(9, 7, 4\) for backbone; expected \(None, None, 3\)",
     lambda: backbone()(keras.Input((9, 7, 4)))),
    (ValueError, r"backbone: found samples of shape \(9, 7, 2\); expected \(None, None, 3\)",
     lambda: backbone().predict(PICTURES[..., :2], verbose=0)),
    (ValueError, "weights depend on the sizes that are None", lambda: L.Dense(2)(L.Flatten()(keras.Input((None, 3))))),
    (ValueError, r"backbone: found an input of shape \(None, None, None, 3\); expected samples",
     lambda: backbone().summary()),
    (ValueError, r"found shape \(0, 3\); expected whole numbers of at least 1, or None", lambda: keras.Input((0, 3))),
])
def test_what_needs_sizes_says_so(error, text, use):
    with pytest.raises(error, match=text):
        use()
