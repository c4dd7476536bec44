"""Models whose call is their own; the script own_models.py holds their numbers against Keras's."""
import copy

import numpy as np
import pytest

from cornu import keras
from cornu.keras import layers, ops


class Small(keras.Model):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.inner, self.end = layers.Dense(units, activation="tanh"), layers.Dense(2)

    def call(self, inputs, training=None):
        return self.end(self.inner(inputs)) * 0.5


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    return rng.random((10, 4), np.float32), rng.random((10, 2), np.float32)


def test_it_has_weights_once_its_shape_is_known(data):
    model = Small(name="small")
    assert not model.built and model.weights == [] and model.layers == [] and model.name == "small"
    for use in (model.summary, model.to_json, lambda: model.save("m.keras")):
        with pytest.raises(ValueError, match="small: found no input shape; expected build"):
            use()
    model.build((None, 4))
    assert model.built and [w.shape for w in model.weights] == [(4, 3), (3,), (3, 2), (2,)]
    assert Small().predict(data[0], verbose=0).shape == (10, 2)


def test_call_runs_once(data):
    calls = []

    class Counted(Small):
        def call(self, inputs):
            calls.append(inputs.shape)
            return super().call(inputs)

    model = Counted()
    model.compile("sgd", "mse")
    model.fit(*data, batch_size=4, epochs=2, verbose=0)
    model.predict(data[0], verbose=0)
    assert calls == [(None, 4)]


def test_files_and_copies_are_functional_models(data, tmp_path):
    model = Small()
    model.compile("adam", "mse")
    model.fit(*data, verbose=0)
    expected = model.predict(data[0], verbose=0)
    for name in ("m.keras", "m.safetensors"):
        model.save(tmp_path / name)
        assert np.allclose(keras.models.load_model(tmp_path / name).predict(data[0], verbose=0), expected)
    assert np.allclose(copy.deepcopy(model).predict(data[0], verbose=0), expected)
    assert keras.models.clone_model(model).count_params() == model.count_params()
    other = Small()
    other.build((None, 4))
    model.save_weights(str(tmp_path / "w.weights.h5"))
    other.load_weights(str(tmp_path / "w.weights.h5"))
    assert np.allclose(other.predict(data[0], verbose=0), expected)


def test_it_is_a_part_of_others(data):
    begin = keras.Input((4,))
    part = Small(5)
    model = keras.Model(begin, layers.Dense(1)(part(begin)))
    assert model.predict(data[0], verbose=0).shape == (10, 1) and len(part.weights) == 4
    assert len(keras.Sequential([keras.Input((4,)), Small()]).weights) == 4


def test_what_cannot_be_says_why(data):
    with pytest.raises(NotImplementedError, match="a model without inputs= and outputs= is not in cornu"):
        type("Empty", (keras.Model,), {})()

    class Sums(keras.Model):
        def call(self, inputs):
            return ops.cumsum(inputs, axis=1)

    with pytest.raises(NotImplementedError, match="ops.cumsum: of tensors"):
        Sums().predict(data[0], verbose=0)
    model = Small()
    model.build((None, 4))
    with pytest.raises(ValueError, match="for which it was built"):
        model.build((None, 5))
