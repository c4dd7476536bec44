"""Normalization: adapt on every form of data, and what it refuses. (Numbers beside Keras's: scripts/table_regression.py.)"""
import numpy as np
import pytest

from cornu import keras

x = np.random.default_rng(3).normal(2, 3, (40, 3)).astype("float32")


def test_batches_give_the_statistics_of_the_whole():
    for data in (x, [x[:7], x[7:]], ((part, None) for part in (x[:20], x[20:30], x[30:]))):
        layer = keras.layers.Normalization()
        assert layer.mean is None
        layer.adapt(data)
        assert np.allclose(layer.mean, x.mean(0, keepdims=True), atol=1e-5) and layer.mean.shape == (1, 3)
        assert np.allclose(layer.variance.numpy(), x.var(0, keepdims=True), atol=1e-4)
        assert np.allclose(layer(x), (x - x.mean(0)) / x.std(0), atol=1e-4)
    pictures = np.random.default_rng(4).random((5, 4, 3, 2))
    layer = keras.layers.Normalization(axis=(1, -1))
    layer.adapt(pictures)
    assert np.allclose(layer.mean, pictures.mean((0, 2), keepdims=True)) and layer.mean.shape == (1, 4, 1, 2)


def test_training_leaves_the_statistics_alone_and_constant_columns_are_0():
    table = np.hstack([x, np.full((40, 1), 5, "float32")])
    layer = keras.layers.Normalization()
    layer.adapt(table)
    assert (np.asarray(layer(table))[:, 3] == 0).all()
    model = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = layer.mean
    model.fit(table, table[:, 0], verbose=0)
    assert (layer.mean == before).all() and np.isfinite(model.get_weights()[3]).all()


@pytest.mark.parametrize("kind, text, call", [
    (ValueError, "no batches", lambda: keras.layers.Normalization().adapt([])),
    (TypeError, "found int", lambda: keras.layers.Normalization().adapt(3)),
    (ValueError, "been given mean", lambda: keras.layers.Normalization(mean=0.0, variance=1.0).adapt(x)),
    (ValueError, "axis: found 2", lambda: keras.layers.Normalization(axis=2).adapt(x)),
    (ValueError, r"shape \(2,\) after one of \(3,\)", lambda: keras.layers.Normalization().adapt([x, x[:, :2]])),
    (ValueError, "without variance", lambda: keras.Sequential([keras.Input((3,)), keras.layers.Normalization(mean=1.0)])),
])
def test_what_cannot_be_is_refused(kind, text, call):
    with pytest.raises(kind, match=text):
        call()
