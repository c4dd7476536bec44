"""Layers within layers, and weights of layers of one's own, where other parts meet them."""
import json

import numpy as np
import pytest
from cornu import keras
from cornu.keras import layers, ops

ONES = np.ones((4, 3, 8), "float32")


def model_of(layer, shape=(3, 8)):
    model = keras.Sequential([keras.Input(shape), layer])
    model.compile("sgd", "mse")
    return model


def test_dropout_within_a_layer_drops_in_calls_with_training():
    assert 0 < np.mean(np.asarray(layers.TimeDistributed(layers.Dropout(0.5))(ONES, training=True)) == 0) < 1
    layer = layers.AdditiveAttention(dropout=0.5)
    assert not np.array_equal(*(np.asarray(layer([ONES, ONES], training=training)) for training in (True, False)))
    with pytest.raises(NotImplementedError, match="training=True"):
        layers.TimeDistributed(layers.Dropout(0.5))(keras.Input((3, 8)), training=True)


def test_a_layer_within_another_is_frozen_with_it_alone():
    wrapper = layers.TimeDistributed(layers.Dense(2))
    model = model_of(wrapper)
    wrapper.layer.trainable = False
    with pytest.raises(NotImplementedError, match="trainable: found False of a layer within time_distributed"):
        model.compile("sgd", "mse")


def test_spatial_dropout_has_no_trainable_within_a_layer_either():
    config = json.loads(model_of(layers.TimeDistributed(layers.SpatialDropout1D(0.2)), (2, 3, 8)).to_json())
    inner = next(one for one in config["config"]["layers"] if one["class_name"] == "TimeDistributed")["config"]["layer"]
    assert "trainable" not in inner["config"]


@pytest.mark.parametrize("chosen", ["var_names", "var_list"])
def test_a_weight_of_ones_own_is_excluded_from_decay_by_its_own_name(chosen):
    class Product(layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 2), name="kernel", initializer="ones")
            self.bias = self.add_weight(shape=(2,), name="bias", initializer="ones")

        def call(self, x):
            return ops.matmul(x, self.kernel) + self.bias
    inputs = keras.Input((8,))
    layer = Product(name="product")
    model = keras.Model(inputs, layer(inputs))
    optimizer = keras.optimizers.SGD(0.1, weight_decay=0.5)
    model.compile(optimizer, "mse")
    optimizer.exclude_from_weight_decay(**{chosen: ["bias"] if chosen == "var_names" else [layer.bias]})
    kernel, bias = (np.asarray(w) for w in model.get_weights())
    model.fit(np.zeros((4, 8)), np.ones((4, 2)), epochs=1, verbose=0)
    after_kernel, after_bias = model.get_weights()
    assert np.all(after_kernel < kernel) and np.array_equal(after_bias, bias)


@pytest.mark.parametrize("optimizer", [lambda: keras.optimizers.SGD(0.0, use_ema=True), lambda: keras.optimizers.ScheduleFreeAdamW(0.0)])
def test_averages_of_weights_that_are_trained_later_begin_as_the_weights(optimizer):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="first"), layers.Dense(2)])
    x, y, steps = np.ones((8, 4)), np.ones((8, 2)), optimizer()
    model.get_layer("first").trainable = False
    model.compile(steps, "mse")
    model.fit(x, y, batch_size=4, verbose=0)
    before = model.get_layer("first").get_weights()[0]
    model.get_layer("first").trainable = True
    model.compile(steps, "mse")
    model.fit(x, y, batch_size=4, epochs=3, verbose=0)
    assert np.allclose(model.get_layer("first").get_weights()[0], before, rtol=1e-5)
