"""Inputs that leave sizes open, as (None, None, 3): scripts/any_size.py compares with Keras."""
import pickle

import numpy as np
import pytest

from cornu import keras
from cornu.keras import ops

L = keras.layers
PICTURES = np.random.default_rng(1).random((4, 9, 7, 3), np.float32)


def backbone():
    seen = keras.Input((None, None, 3), name="seen")
    x = L.Conv2D(4, 3, strides=2, activation="relu", name="conv")(seen)
    return keras.Model(seen, L.GlobalAveragePooling2D(name="mean")(L.BatchNormalization(name="norm")(x)), name="backbone")


def two_inputs():
    a, b = keras.Input((None, None, 3)), keras.Input((None, None, 3))
    return keras.Model([a, b], L.Add()([L.GlobalAveragePooling2D()(t) for t in (a, b)]))


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


def test_an_untrained_model_takes_samples_of_any_size():
    model = keras.Sequential([backbone(), L.Dense(1)])
    model.compile("sgd", "mse")
    for pictures in (PICTURES, PICTURES[:, :5], [PICTURES]):
        assert model.predict(pictures, verbose=0).shape == (4, 1)
        assert model.evaluate(pictures, np.ones((4, 1)), verbose=0) > 0
    model.train_on_batch(PICTURES, np.ones((4, 1)))
    with pytest.raises(NotImplementedError, match="and a training on those of"):
        model.evaluate(PICTURES[:, :5], np.ones((4, 1)), verbose=0)


def test_copies_keep_weights_and_the_optimizers_state():
    model = keras.Sequential([backbone(), L.Dense(1)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    copy = pickle.loads(pickle.dumps(model))
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), copy.get_weights()))
    model.fit(PICTURES, np.ones((4, 1)), epochs=3, shuffle=False, verbose=0)
    copy = pickle.loads(pickle.dumps(model))
    losses = [m.fit(PICTURES, np.ones((4, 1)), epochs=2, shuffle=False, verbose=0).history["loss"] for m in (model, copy)]
    assert losses[0] == losses[1]


def test_operations_leave_sizes_open():
    x = keras.Input((None, 1, 3))
    ends = [ops.expand_dims(x, 1), ops.expand_dims(x, -1), ops.squeeze(x), ops.squeeze(x, 2), *ops.unstack(x, 2, axis=1),
            *ops.split(x, [4], axis=1)]
    assert [t.shape for t in ends] == [(None, 1, None, 1, 3), (None, None, 1, 3, 1), (None, None, 3), (None, None, 3), (None, 1, 3),
                                       (None, 1, 3), (None, 4, 1, 3), (None, None, 1, 3)]
    inner = keras.Model(x, ops.squeeze(ops.expand_dims(x, -1), 2))
    begin = keras.Input((7, 1, 3))
    given = np.arange(42, dtype=np.float32).reshape(2, 7, 1, 3)
    model = keras.Model(begin, L.Rescaling(2.0)(inner(begin)))
    assert np.array_equal(model.predict(given, verbose=0), 2 * given.reshape(2, 7, 3, 1))


@pytest.mark.parametrize("error, text, use", [
    (NotImplementedError, r"ops.split: equal parts of axis 1 of \(None, None, 3\)", lambda: ops.split(keras.Input((None, 3)), 2, axis=1)),
    (ValueError, r"ops.unstack: num: found None for axis 1 of \(None, None, 3\)", lambda: ops.unstack(keras.Input((None, 3)), axis=1)),
    (NotImplementedError, "found 2 inputs, of which sizes are None", lambda: two_inputs().predict([PICTURES, PICTURES[:2]], verbose=0)),
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
