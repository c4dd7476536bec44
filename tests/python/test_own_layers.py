"""Layers of one's own and Lambda; the script own_layers.py holds their numbers against Keras's."""
import numpy as np
import pytest

from cornu import keras
from cornu.keras import layers, ops


class Twice(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.inner = layers.Dense(units)

    def call(self, inputs):
        return 2 * self.inner(inputs)


@pytest.fixture
def x():
    return np.random.default_rng(1).random((6, 4), np.float32)


def test_its_layers_are_trained_and_kept_in_files(x, tmp_path):
    model = keras.Sequential([keras.Input((4,)), Twice(3, name="twice"), layers.Lambda(lambda t: t + 1.0)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.fit(x, x[:, :3], verbose=0)
    assert [w.shape for w in before] == [(4, 3), (3,)] and not np.allclose(before[0], model.get_weights()[0])
    assert np.allclose(model.predict(x, verbose=0), 2 * (x @ model.get_weights()[0] + model.get_weights()[1]) + 1, atol=1e-5)
    for name in ("m.keras", "m.safetensors", "m.h5"):
        path = str(tmp_path / name)
        model.save(path)
        assert np.allclose(keras.models.load_model(path).predict(x, verbose=0), model.predict(x, verbose=0))


class Affine(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight((shape[-1],), "ones", name="scale")
        self.shift = self.add_weight((shape[-1],), "zeros", name="shift")
        self.turn = self.add_weight((shape[-1], 2), trainable=False, name="turn")

    def call(self, inputs):
        return (self.scale * inputs + self.shift) @ self.turn


def test_scales_and_weights_that_are_not_trained_are_kept_in_files(x, tmp_path):
    layer = Affine(name="affine")
    model = keras.Sequential([keras.Input((4,)), layer])
    model.compile("sgd", "mse")
    scale, shift, turn = before = model.get_weights()
    assert [w.shape for w in before] == [(4,), (4,), (4, 2)] and len(model.trainable_weights) == 2
    assert np.allclose(model.predict(x, verbose=0), (x * scale + shift) @ turn, atol=1e-6)
    model.fit(x, x[:, :2], verbose=0)
    after = model.get_weights()
    assert np.array_equal(after[2], turn) and not np.allclose(after[0], scale) and np.array_equal(layer.scale.numpy(), after[0])
    for name in ("m.keras", "m.safetensors", "m.h5", "m.onnx"):
        path = str(tmp_path / name)
        model.export(path, verbose=False) if name.endswith("onnx") else model.save(path)
        again = keras.models.load_model(path)
        assert np.allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)
        assert name.endswith("onnx") or len(again.trainable_weights) == 2


class Anywhere(layers.Layer):
    def build(self, shape):
        self.first = self.add_weight((1, shape[-1]), "ones", name="first")
        self.fixed = self.add_weight((), "ones", trainable=False, name="fixed")
        self.places = self.add_weight((shape[1] + 1, shape[-1]), "glorot_normal", name="places", regularizer="l2")
        self.gain = self.add_weight((), "ones", name="gain")

    def call(self, inputs):
        first = ops.broadcast_to(self.first, (ops.shape(inputs)[0], inputs.shape[-1]))
        rows = ops.concatenate([ops.expand_dims(first, 1), inputs], axis=1) + self.places
        return (rows * self.gain - self.fixed) / (1 + ops.square(self.places))


def test_weights_stand_anywhere_beside_tensors(tmp_path):
    x = np.random.default_rng(2).random((6, 3, 4), np.float32)
    layer = Anywhere(name="anywhere")
    model = keras.Sequential([keras.Input((3, 4)), layer])
    model.compile("sgd", "mse")
    shapes = [(1, 4), (4, 4), (), ()]  # those that are trained come first
    assert [w.shape for w in model.weights] == shapes and len(model.trainable_weights) == 3
    model.set_weights([np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape) / 7 for shape in shapes])
    first, places, gain, fixed = model.get_weights()

    def expected():
        first, places, gain, fixed = model.get_weights()
        rows = np.concatenate([np.broadcast_to(first, (6, 1, 4)), x], axis=1) + places
        return (rows * gain - fixed) / (1 + places**2)

    assert np.allclose(model.predict(x, verbose=0), expected(), atol=1e-6)
    model.fit(x, np.zeros((6, 4, 4)), verbose=0)
    after = model.get_weights()
    assert after[3] == fixed and after[2] != gain and not np.any(after[1] == places) and not np.any(after[0] == first)
    assert np.array_equal(layer.gain.numpy(), after[2]) and np.allclose(model.predict(x, verbose=0), expected(), atol=1e-6)
    for name in ("m.keras", "m.safetensors", "m.h5", "m.onnx"):
        path = str(tmp_path / name)
        model.export(path, verbose=False) if name.endswith("onnx") else model.save(path)
        again = keras.models.load_model(path)
        assert np.allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


def test_a_chain_without_a_shape_waits(x):
    model = keras.Sequential([Twice(3), layers.Lambda(lambda t: ops.square(t))])
    assert model.predict(x, verbose=0).shape == (6, 3) and len(model.weights) == 2


def test_it_is_called_on_arrays_and_shared(x):
    layer = Twice(3)
    once = layer(x)
    begin = keras.Input((4,))
    model = keras.Model(begin, layer(begin) + layer(begin))
    assert np.allclose(model.predict(x, verbose=0), 2 * once, atol=1e-5) and len(model.weights) == 2
    assert layers.Lambda(lambda t: t * 2.0, arguments={})(x).shape == (6, 4)


def test_layers_of_the_tables_are_built_by_their_shape():
    layer = layers.Dense(3)
    layer.build((None, 4))
    assert [w.shape for w in layer.weights] == [(4, 3), (3,)]
    assert layer.call(np.zeros((2, 4), np.float32)).shape == (2, 3)
    merging = layers.Add()
    merging.build([(None, 4), (None, 4)])
    assert merging.weights == []


def test_options_reach_the_function():
    begin = keras.Input((4,))
    scaled = layers.Lambda(lambda t, by: t * by, arguments={"by": 3.0})
    assert np.allclose(keras.Model(begin, scaled(begin)).predict(np.ones((1, 4)), verbose=0), 3)


@pytest.mark.parametrize("error, told, use", [
    (NotImplementedError, "the weight variable, which call does not use", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: self.add_weight(shape=(4,)) and None, "call": lambda self, t: t + 1})()(t)),
    (ValueError, "expected equal shapes", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: setattr(self, "g", self.add_weight((3,), name="g")), "call": lambda self, t: t * self.g})()(t)),
    (NotImplementedError, "weight g of shape \\(2, 4\\) in multiply beside a tensor of 2 axes", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: setattr(self, "g", self.add_weight((2, 4), name="g")), "call": lambda self, t: t * self.g})()(t)),
    (NotImplementedError, "weight w of shape \\(4, 4\\) in add after a product", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: setattr(self, "w", self.add_weight((4, 4), name="w")), "call": lambda self, t: t @ self.w + (1 + self.w)})()(t)),
    (NotImplementedError, "ops.repeat: of the weight g of shape \\(1, 4\\) to \\(3, 4\\)", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: setattr(self, "g", self.add_weight((1, 4), name="g")), "call": lambda self, t: ops.repeat(self.g, 3, 0)})()(t)),
    (NotImplementedError, "ops.cast: of a tensor to int32", lambda t: layers.Lambda(lambda v: ops.cast(v, "int32") + 1)(t)),
    (NotImplementedError, "without its bias, too", lambda t: type("Own", (layers.Layer,), {
        "build": lambda self, s: self.__dict__.update(w=self.add_weight((4, 4)), b=self.add_weight((4,))),
        "call": lambda self, t: (lambda y: (y + self.b) * y)(t @ self.w)})()(t)),
    (NotImplementedError, "Own: expected a method call", lambda t: type("Own", (layers.Layer,), {})()(t)),
    (NotImplementedError, "ops.cumsum: of tensors", lambda t: layers.Lambda(lambda v: ops.cumsum(v, axis=1))(t)),
    (TypeError, "found 3; expected a tensor", lambda t: layers.Lambda(lambda v: 3)(t)),
    (TypeError, "unexpected argument", lambda t: type("Own", (layers.Layer,), {})(color=1)),
    (NotImplementedError, "a Dense of one's own", lambda t: type("Own", (layers.Dense,), {})),
    (NotImplementedError, "takes one shape", lambda t: [layer := Twice(2), layer(t), layer(keras.Input((5,)))]),
    (NotImplementedError, "mask", lambda t: layers.Lambda(lambda v: v, mask=lambda v: v)),
])
def test_what_cannot_be_says_why(error, told, use):
    with pytest.raises(error, match=told):
        use(keras.Input((4,)))
