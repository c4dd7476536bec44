"""Losses of one's own: what they may compute, and what happens where they cannot be traced."""
import numpy as np
import pytest

from cornu import keras
from cornu.keras import ops


def squares(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


@keras.saving.register_keras_serializable(package="Tests")
class Scaled(keras.losses.Loss):
    def __init__(self, factor=2.0, name="scaled", **kwargs):
        super().__init__(name=name, **kwargs)
        self.factor = factor

    def call(self, y_true, y_pred):
        return self.factor * ops.mean(ops.abs(y_true - y_pred), axis=-1)

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.random((12, 4), np.float32), rng.random((12, 2), np.float32)


def line(loss, **more):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, kernel_initializer="ones")])
    model.compile("sgd", loss, **more)
    return model


def test_it_is_traced_once_for_all_batches(data):
    calls = []

    def counted(y_true, y_pred):
        calls.append(y_pred.shape)
        return squares(y_true, y_pred)

    model = line(counted)
    model.fit(*data, batch_size=5, epochs=3, verbose=0)
    assert calls == [(None, 2)]


def test_its_names_take_none_of_the_layers(data):
    model = line(squares)
    model.fit(*data, verbose=0)
    before = keras.layers.Subtract().name
    line(squares).fit(*data, verbose=0)
    number = int(before.rpartition("_")[2]) if before != "subtract" else 0
    assert keras.layers.Subtract().name == f"subtract_{number + 1}"


@pytest.mark.parametrize("name", ["model.keras", "model.h5", "model.safetensors"])
def test_a_file_keeps_it(data, tmp_path, name):
    path = str(tmp_path / name)
    for loss, told in ((squares, "squares"), (Scaled(3.0), "Scaled")):
        model = line(loss)
        model.fit(*data, verbose=0)
        model.save(path)
        again = keras.models.load_model(path)
        assert again.evaluate(*data, verbose=0) == pytest.approx(model.evaluate(*data, verbose=0))
        assert again.loss in (told, Scaled)
        again.fit(*data, verbose=0)
        given = keras.models.load_model(path, custom_objects={"squares": squares, "Scaled": Scaled})
        assert given.loss is (squares if loss is squares else Scaled)


def test_a_file_that_is_saved_before_any_data_has_the_loss(data, tmp_path):
    model, path = line(squares), str(tmp_path / "model.safetensors")
    model.save(path)
    assert keras.models.load_model(path).evaluate(*data, verbose=0) == pytest.approx(model.evaluate(*data, verbose=0))


def test_a_model_without_shapes_waits_for_them(data):
    model = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")])
    model.compile("sgd", squares)
    assert model.fit(*data, verbose=0).history["loss"] == line(squares).fit(*data, verbose=0).history["loss"]


def test_batches_of_a_generator(data):
    x, y = data
    loss = line(squares).fit(x, y, batch_size=4, shuffle=False, verbose=0).history
    assert line(squares).fit(((x[i:i + 4], y[i:i + 4]) for i in (0, 4, 8)), verbose=0).history == loss


def test_the_form_of_targets_may_change(data):
    x, y = data
    model = line(lambda t, p: ops.mean(ops.square(t - ops.mean(p, axis=-1, keepdims=True)), axis=-1))
    first = model.evaluate(x, y, verbose=0)
    assert model.evaluate(x, (y[:, :1] > 0.5).astype(int), verbose=0) != first
    assert model.evaluate(x, y, verbose=0) == first


@pytest.mark.parametrize("loss, error, told", [
    (lambda t, p: ops.mean(ops.cumsum(p), axis=-1), NotImplementedError, "ops.cumsum: of tensors"),
    (lambda t, p: np.mean(p), NotImplementedError, "numpy.mean of a tensor"),
    (lambda t, p: ops.mean(p, axis=0), NotImplementedError, "ops.mean: over axis=0"),
    (lambda t, p: p ** 1.5, NotImplementedError, "ops.power: .* 1.5"),
    (lambda t, p: ops.erf(p), NotImplementedError, "ops.erf is not in cornu"),
    (lambda t, p: 3.0, TypeError, "loss <lambda>: found 3.0; expected one tensor"),
    (lambda t, p: [t, p], TypeError, "found several tensors"),
    (lambda t, p: ops.cast(p, "int32") * 1.0, NotImplementedError, "ops.cast: of a tensor to int32"),
    (lambda t, p: ops.mean(t, axis=-1) * p, ValueError, "shapes .None,. and .None, 2."),
    (lambda t, p: keras.layers.Dense(2)(p), ValueError, "the weight dense.*/kernel; expected operations without"),
    (lambda t, p: keras.losses.hinge(t, p), NotImplementedError, "hinge"),
    (lambda t, p: p if p[:, 0] > 0 else t, TypeError, "cannot be used as a boolean|used as a boolean"),
])
def test_what_cannot_be_traced_names_itself(data, loss, error, told):
    model = line("mse")
    with pytest.raises(error, match=told):
        model.compile("sgd", loss)
        model.fit(*data, verbose=0)


def test_losses_of_batches_are_not_divided(data):
    model = line(lambda t, p: ops.sqrt(ops.mean(ops.square(t - p))))
    with pytest.raises(NotImplementedError, match="shards: found the loss <lambda>, which is of all samples"):
        model.fit(*data, verbose=0, shards=2)
    line(squares).fit(*data, verbose=0, shards=2)


def test_a_class_without_call_is_told():
    class Empty(keras.losses.Loss):
        pass

    with pytest.raises(NotImplementedError, match="Empty: expected a method call"):
        Empty()([[1.0]], [[2.0]])
    with pytest.raises(ValueError, match="reduction='some'"):
        Scaled(reduction="some")


def test_configurations_know_what_is_registered():
    made = keras.losses.deserialize(keras.losses.serialize(Scaled(5.0)))
    assert isinstance(made, Scaled) and made.factor == 5
    assert keras.saving.get_registered_name(Scaled) == "Tests>Scaled"
    assert keras.saving.get_registered_object("Tests>Scaled") is Scaled
    with keras.saving.custom_object_scope({"named": squares}):
        assert keras.losses.get("named") is squares
    with pytest.raises(ValueError, match="unknown"):
        keras.losses.get("named")
