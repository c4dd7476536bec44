"""keras.ops and operators on tensors of a network. tests/python/scripts/operations.py compares their numbers with Keras's."""
import json
import pickle

import numpy as np
import pytest

import cornu as tf
from cornu import keras
from cornu.keras import layers, ops

X = np.random.default_rng(1).normal(size=(4, 6)).astype("float32")


@pytest.mark.parametrize("function", [
    lambda x: 1 + x, lambda x: x - np.float32(2), lambda x: 3 - x, lambda x: np.float64(2) * x, lambda x: x / 4, lambda x: -abs(x),
    lambda x: np.ones(1) + x, lambda x: x**2, lambda x: x / (x**2 + 1), lambda x: 1 / (x**2 + 1), lambda x: 3 / (x**2 + 2),
    lambda x: (x**2 + 1) ** 0.5, lambda x: (x**2 + 1) ** -0.5, lambda x: (x**2 + 1) ** -1])
def test_an_operator_is_a_layer(function):
    begin = keras.Input((6,))
    end = function(begin)
    assert isinstance(end, keras.KerasTensor)
    assert np.allclose(keras.Model(begin, end).predict(X, verbose=0), function(X), atol=1e-6)


@pytest.mark.parametrize("name", ["absolute", "exp", "log", "reciprocal", "rsqrt", "sqrt", "square"])
def test_a_function_of_one_tensor_is_an_operation(name):
    begin = keras.Input((6,))
    end = getattr(ops, name)(begin)
    function = {"reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x)}.get(name) or getattr(np, name)
    above = np.abs(X) + 0.1
    operation = end._keras_history.operation
    assert operation.name.startswith(name) and operation.get_config() == {"name": operation.name}
    assert np.allclose(keras.Model(begin, end).predict(above, verbose=0), function(above), rtol=1e-6, atol=1e-7)
    assert np.allclose(getattr(ops, name)(above), function(above))


def test_a_quotient_has_the_name_of_what_made_it():
    begin = keras.Input((6,))
    names = [t._keras_history.operation.name for t in (begin / begin, ops.divide(begin, begin), ops.true_divide(begin, begin))]
    assert [name.rstrip("_0123456789") for name in names] == ["true_divide", "divide", "true_divide"]


def test_operations_are_no_layers():
    for name in ("Exp", "Divide", "TrueDivide", "divide", "Square"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(layers, name)
    end = ops.exp(keras.Input((6,)))
    with pytest.raises(TypeError, match="expected a layer"):
        keras.Sequential([end._keras_history.operation])


def test_operations_are_copied_kept_and_described_as_keras_does():
    first, second = keras.Input((6,), name="first"), keras.Input((1,), name="second")
    model = keras.Model([first, second], ops.divide(ops.exp(first), ops.sqrt(ops.square(second) + 1)))
    x = [X, X[:, :1]]
    expected = np.exp(X) / np.sqrt(X[:, :1] ** 2 + 1)
    config = model.get_config()
    described = {entry["name"]: entry for entry in config["layers"]}
    divide = next(entry for name, entry in described.items() if name.startswith("divide"))
    assert (divide["module"], divide["class_name"], list(divide["config"])) == ("keras.src.ops.numpy", "Divide", ["name"])
    assert len(divide["inbound_nodes"][0]["args"]) == 2
    written = {entry["name"]: entry for entry in json.loads(model.to_json())["config"]["layers"]}
    assert written[divide["name"]] == {**divide, "registered_name": "Divide"}
    copies = [keras.Model.from_config(config), keras.models.model_from_json(model.to_json()), keras.models.clone_model(model),
              pickle.loads(pickle.dumps(model))]
    for copy in copies:
        assert np.allclose(copy.predict(x, verbose=0), expected, atol=1e-6)


def test_a_chain_with_an_operation_is_functional():
    model = json.loads(keras.Model(begin := keras.Input((6,)), layers.Dense(2)(ops.exp(begin))).to_json())
    assert model["class_name"] == "Functional"


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
    for name in keras.activations.__all__:
        function = getattr(keras.activations, name)
        if name not in ("deserialize", "get", "linear", "serialize"):
            arguments = (0.2, -1.5) if name == "threshold" else ()
            found = keras.Model(begin, function(begin, *arguments)).predict(3 * X, verbose=0)
            assert np.allclose(found, function(3 * X, *arguments), atol=1e-5), name
    assert "mish" not in ops.__all__ and not hasattr(tf.nn, "tanh_shrink") and tf.nn.relu6(np.float32(9)) == 6
    assert layers.Dense(2, activation="hard_swish").get_config()["activation"] == "hard_silu"
    assert layers.Dense(2, activation=keras.activations.relu).get_config()["activation"] == "relu"


def network_of_arrays():
    """Operands that are arrays, on either side, and choices."""
    x = keras.Input((4, 3))
    y = ops.subtract(np.full((4, 1), 0.5), x * np.array([1, -2, 0.5], "float32"))
    y = ops.where([True, False, True], ops.maximum(y, np.eye(4, 3)), 0.25)
    y = ops.where(y > 0.3, np.arange(3), y) / np.array([[2.0, 1.0, 4.0]])
    y = ops.matmul(np.ones((2, 4)) / 4, ops.matmul(y, np.arange(6).reshape(3, 2)))
    return keras.Model(x, layers.Dense(2)(layers.Flatten()(ops.pad(y, [[0, 0], [1, 0], [0, 0]], constant_values=-1))))


def test_arrays_are_operands(tmp_path):
    model = network_of_arrays()
    x = np.random.default_rng(0).normal(size=(5, 4, 3)).astype("float32")
    y = np.maximum(0.5 - x * [1, -2, 0.5], np.eye(4, 3)) * [1, 0, 1] + [0, 0.25, 0]
    y = np.where(y > 0.3, np.arange(3), y) / [2, 1, 4] @ np.arange(6).reshape(3, 2)
    y = np.concatenate([np.full((5, 1, 2), -1), y.mean(1, keepdims=True), y.mean(1, keepdims=True)], 1)
    kernel, bias = model.get_weights()
    expected = y.reshape(5, 6) @ kernel + bias
    assert np.allclose(model.predict(x, verbose=0), expected, atol=1e-5)
    copies = [pickle.loads(pickle.dumps(model)), keras.models.clone_model(model), keras.Model.from_config(model.get_config())]
    for name in ("m.keras", "m.h5", "m.safetensors"):
        model.save(tmp_path / name)
        copies.append(keras.models.load_model(tmp_path / name))
    for copy in copies:
        copy.set_weights([kernel, bias])
        assert np.array_equal(copy.predict(x, verbose=0), model.predict(x, verbose=0))
    model.compile("sgd", "mse")
    losses = [float(model.train_on_batch(x, np.ones((5, 2)))) for _ in range(9)]
    assert losses[-1] < losses[0]


def test_a_comparison_is_1_or_0():
    x, table = keras.Input((6,)), np.array([[-1, 0, 0.5, 1, 2, 3]], "float32")
    for function, expected in ((ops.greater, [0, 0, 0, 0, 1, 1]), (ops.less_equal, [1, 1, 1, 1, 0, 0]), (ops.equal, [0, 0, 0, 1, 0, 0]),
                               (ops.not_equal, [1, 1, 1, 0, 1, 1])):
        assert keras.Model(x, function(x, 1)).predict(table, verbose=0).tolist() == [expected]
    assert keras.Model(x, (x >= np.full(6, 0.5)) * (2 > x)).predict(table, verbose=0).tolist() == [[0, 0, 1, 1, 0, 0]]


def test_a_network_of_operations_is_kept_in_files(tmp_path):
    begin = keras.Input((6,))
    model = keras.Model(begin, layers.Dense(2)(ops.concatenate([begin * 2, 1 - begin], axis=-1)))
    model.save(tmp_path / "model.keras")
    assert np.array_equal(keras.models.load_model(tmp_path / "model.keras").predict(X, verbose=0), model.predict(X, verbose=0))


@pytest.mark.parametrize("error, text, use", [
    (ValueError, r"Add.: found an input and an array of shapes \(6\) and \(3\)", lambda x: x + np.ones(3)),
    (ValueError, r"found an array of shape \(2, 1, 6\) beside a tensor", lambda x: x * np.ones((2, 1, 6))),
    (ValueError, "expected a finite number, or lists of equal lengths", lambda x: x + np.full(6, np.inf)),
    (TypeError, "ops.multiply: found .* beside a tensor; expected numbers", lambda x: x * np.array(["a"] * 6)),
    (ValueError, "expected at most 32768 numbers", lambda x: ops.matmul(x, np.ones((6, 6000)))),
    (NotImplementedError, "ops.where: of a condition alone", lambda x: ops.where(x > 0)),
    (ValueError, "ops.where: found tensors of shapes", lambda x: ops.where(x > 0, keras.Input((2, 6)), 1)),
    (ValueError, "TrueDivide.*expected equal shapes", lambda x: x / keras.Input((5,))),
    (ValueError, "0 as the divisor", lambda x: x / 0),
    (NotImplementedError, "to the power of 3 is not in cornu; it takes a tensor, and 2, 0.5, -0.5, -1", lambda x: x**3),
    (NotImplementedError, "ops.power: 2 to the power", lambda x: ops.power(2, x)),
    (NotImplementedError, "ops.erf is not in cornu", lambda x: ops.erf),
    (NotImplementedError, "ops.einsum: of tensors that have no numbers yet", lambda x: ops.einsum("ij->ji", x)),
    (ValueError, "Mean.: found an output of one number for input .None, 6.; expected at least one axis besides the batch",
     lambda x: ops.mean(x, axis=1)),
    (ValueError, "ops.subtract: found tensors of shapes .None, 6. and .None, 1, 6.; expected equal numbers of axes",
     lambda x: x - ops.expand_dims(x, 1)),
    (NotImplementedError, "ops.sum: over axis=None", lambda x: ops.sum(x)),
    (ValueError, r"Sum.: found axis 1 of input \(None, 6\) twice; expected each once",
     lambda x: ops.sum(x, axis=(1, -1), keepdims=True)),
    (ValueError, "Max.: found axis 0 .*0 is the batch", lambda x: ops.max(x, axis=(0, 1))),
    (NotImplementedError, "Min: initial=3", lambda x: ops.min(x, axis=1, keepdims=True, initial=3)),
    (ValueError, r"Matmul.: found operands of shapes \(None, 6\) and \(None, 6\); expected .batch, ..., rows, n.", lambda x: x @ x),
    (ValueError, r"found operands of shapes \(6, 6\) and \(None, 6\)", lambda x: ops.matmul(np.ones((6, 6)), x)),
    (ValueError, r"Matmul.: found operands of shapes \(None, 2, 3\) and \(None, 2, 3\)", lambda x: ops.reshape(x, (-1, 2, 3)) @ ops.reshape(x, (-1, 2, 3))),
    (NotImplementedError, "ops.pad: mode='reflect'", lambda x: ops.pad(x, 1, mode="reflect")),
    (ValueError, r"Pad.: found a pad_width that does not fit input \(None, 6\); .*\[0, 0\] of the batch first", lambda x: ops.pad(x, 1)),
    (ValueError, "0 is the batch", lambda x: ops.concatenate([x, x])),
    (ValueError, "expected -1 first", lambda x: ops.reshape(x, (6,))),
    (ValueError, "of length 6", lambda x: ops.squeeze(x, 1)),
    (ValueError, "Glu.: found 5 elements along axis 1 of input .None, 5.; expected an even number", lambda x: ops.glu(x[:, :5])),
    (ValueError, 'activation: found "glu"; expected one that keeps the shape', lambda x: layers.Dense(4, activation="glu")(x)),
    (ValueError, 'activation: found "threshold"; expected one without numbers', lambda x: layers.Activation("threshold")(x)),
    (ValueError, "Celu.*alpha: found -1", lambda x: ops.celu(x, -1.0)),
    (ValueError, "Add.*expected equal shapes", lambda x: layers.add([x, keras.Input((5,))])),
    (ValueError, "Subtract.*expected two", lambda x: layers.subtract([x, x, x])),
    (ValueError, "Concatenate.*equal but for axis", lambda x: layers.concatenate([keras.Input((4, 3)), keras.Input((5, 2))])),
])
def test_wrong_uses_say_why(error, text, use):
    with pytest.raises(error, match=text):
        use(keras.Input((6,)))


def base(tensor):
    return tensor._keras_history.operation


def test_parts_of_tensors_are_operations_of_their_own():
    begin = keras.Input((3, 4, 5))
    x = np.random.default_rng(4).normal(size=(2, 3, 4, 5)).astype("float32")
    keys = [np.s_[:, 1:], np.s_[:, ::2, 1:-1], np.s_[..., 0], np.s_[:, None, -1], np.s_[:, np.int64(1), ..., None, 2:99],
            np.s_[..., 1, 1:3], np.s_[:]]
    for key in keys:
        part = begin[key]
        assert part.shape[1:] == x[key].shape[1:] and type(base(part)).__name__ == "GetItem"
        assert np.array_equal(keras.Model(begin, layers.Rescaling(1.0)(part)).predict(x, verbose=0), x[key])


def test_operations_are_named_as_keras_names_them_and_are_no_layers(tmp_path):
    keras.backend.clear_session()
    begin = keras.Input((4, 6))
    tensors = [begin[:, 0], begin[:, 1], ops.mean(begin, axis=1), begin[:, 2] * 2, 2 * begin[:, 3], begin[:, 0] / 2]
    end = layers.Dense(2)(ops.stack([tensors[0], tensors[1], *tensors[3:], tensors[2]], axis=1))
    assert [base(t).name for t in tensors] == ["get_item", "get_item_1", "mean", "multiply", "multiply_1", "true_divide"]
    model = keras.Model(begin, end)
    assert [type(layer).__name__ for layer in model.layers] == ["InputLayer", "Dense"]
    assert sorted(layer.name for layer in model.operations if layer not in model.layers) == [
        "get_item", *(f"get_item_{i}" for i in range(1, 5)), "mean", "multiply", "multiply_1", "stack", "true_divide"]
    told: list = []
    model.summary(print_fn=told.append)
    assert "get_item (GetItem)" in told[0] and "stack (Stack)" in told[0]
    x = np.random.default_rng(5).normal(size=(3, 4, 6)).astype("float32")
    expected = model.predict(x, verbose=0)
    model.save(tmp_path / "m.keras")
    model.save(tmp_path / "m.h5")
    for path in ("m.keras", "m.h5"):
        assert np.array_equal(keras.models.load_model(tmp_path / path).predict(x, verbose=0), expected)
    for again in (keras.models.model_from_json(model.to_json()), keras.models.clone_model(model),
                  keras.Model.from_config(model.get_config())):
        again.set_weights(model.get_weights())
        assert np.array_equal(again.predict(x, verbose=0), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(x, verbose=0), expected)
    around = keras.Model(begin, layers.Dense(1)(layers.Flatten()(model(begin))))
    around.save(tmp_path / "around.keras")
    assert np.array_equal(keras.models.load_model(tmp_path / "around.keras").predict(x, verbose=0), around.predict(x, verbose=0))


def test_a_constant_beside_a_tensor_is_kept_in_models_within_models():
    begin = keras.Input((6,))
    inner = keras.Model(begin, ops.maximum(ops.minimum(begin, 1), -0.5))
    model = keras.Model(begin, layers.Rescaling(2.0)(inner(begin)))
    assert np.allclose(model.predict(X, verbose=0), 2 * np.clip(X, -0.5, 1))


def test_an_operation_is_shared_by_models_that_share_layers(tmp_path):
    begin = keras.Input((6,))
    h = layers.Dense(3)(begin)
    end = layers.Dense(2)(ops.exp(h)[:, :2])
    model, part = keras.Model(begin, end), keras.Model(h, end)
    around = keras.Model(begin, model(begin) + part(h) + model(begin * 2))
    expected = 2 * model.predict(X, verbose=0) + model.predict(2 * X, verbose=0)
    assert np.allclose(around.predict(X, verbose=0), expected, atol=1e-5)
    around.save(tmp_path / "m.keras")
    assert np.array_equal(keras.models.load_model(tmp_path / "m.keras").predict(X, verbose=0), around.predict(X, verbose=0))


def test_copies_and_files_have_the_same_layers(tmp_path):
    begin = keras.Input((6,))
    x = layers.Dense(3)(begin)
    x = ops.relu(2 * x - 1) + ops.concatenate([x, ops.expand_dims(x, 1)[:, 0]], axis=-1)[:, :3]
    inner = keras.Model(begin, layers.Add()([x / ops.maximum(x, 0.5), ops.softmax(-x)]))
    model = keras.Model(begin, layers.Dense(2)(inner(begin) * 3))
    copies = {"clone": keras.models.clone_model(model), "config": keras.Model.from_config(model.get_config()),
              "json": keras.models.model_from_json(model.to_json()), "pickle": pickle.loads(pickle.dumps(model))}
    for ending in (".keras", ".h5", ".safetensors"):
        model.save(tmp_path / f"m{ending}")
        copies[ending] = keras.models.load_model(tmp_path / f"m{ending}")
    for own, made in copies.items():
        for a, b in ((made, model), (made.layers[1], model.layers[1])):
            assert [layer.name for layer in a.layers] == [layer.name for layer in b.layers], own


def test_operations_of_kerass_configurations_are_no_layers():
    tensor = {"class_name": "__keras_tensor__", "config": {"keras_history": ["in", 0, 0]}}
    config = {"name": "f", "layers": [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 6], "name": "in"}, "name": "in", "inbound_nodes": []},
        {"module": "keras.src.ops.numpy", "class_name": "Multiply", "config": {"name": "it"}, "name": "it",
         "registered_name": "Multiply", "inbound_nodes": [{"args": [tensor, 3], "kwargs": {}}]}],
        "input_layers": [["in", 0, 0]], "output_layers": [["it", 0, 0]]}
    text = json.dumps({"class_name": "Functional", "config": config})
    for model in (keras.Model.from_config(config), keras.models.model_from_json(text)):
        assert [layer.name for layer in model.layers] == ["in"] and isinstance(model, keras.Model)
        assert not isinstance(model, keras.Sequential)


def test_configurations_in_kerass_form_become_the_librarys_operations():
    tensor = {"class_name": "__keras_tensor__", "config": {"keras_history": ["in", 0, 0]}}
    entries = [("Multiply", {}, [tensor, 3], {}), ("Pad", {"pad_width": [[0, 0], [1, 0]], "mode": "constant"}, [tensor],
                                                   {"constant_values": None}), ("Maximum", {}, [0.5, tensor], {})]
    for name, options, args, kwargs in entries:
        config = {"name": "f", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 6], "name": "in"}, "name": "in", "inbound_nodes": []},
            {"module": "keras.src.ops.numpy", "class_name": name, "config": {"name": "it", **options}, "name": "it",
             "inbound_nodes": [{"args": args, "kwargs": kwargs}]}],
            "input_layers": [["in", 0, 0]], "output_layers": [["it", 0, 0]]}
        expected = {"Multiply": X * 3, "Pad": np.pad(X, ((0, 0), (1, 0))), "Maximum": np.maximum(X, 0.5)}[name]
        assert np.allclose(keras.Model.from_config(config).predict(X, verbose=0), expected, atol=1e-6)


@pytest.mark.parametrize("error, text, use", [
    (ValueError, "GetItem.: found a key that selects samples of the batch", lambda x: x[0]),
    (ValueError, "selects samples of the batch", lambda x: x[1:]),
    (ValueError, "found a slice of step -1 along axis 1; expected a step of at least 1", lambda x: x[:, ::-1]),
    (ValueError, "found index 4 along axis 1; expected -4 to 3", lambda x: x[:, 4]),
    (ValueError, "found a key for 4 axes", lambda x: x[:, 0, 0, 0]),
    (ValueError, "found an output of one number", lambda x: x[:, 0, 0]),
    (NotImplementedError, "a tensor's part of .1, 2. is not in cornu", lambda x: x[:, [1, 2]]),
    (NotImplementedError, "a tensor's part of True is not in cornu", lambda x: x[:, True]),
    (ValueError, "Transpose.: found axes that do not fit input .None, 4, 6.*first", lambda x: ops.transpose(x)),
    (ValueError, "expected a number that divides 6", lambda x: ops.split(x, 4, axis=-1)),
    (ValueError, "ops.split: axis: found 0", lambda x: ops.split(x, 2)),
    (ValueError, "ops.unstack: num: found 3", lambda x: ops.unstack(x, 3, axis=1)),
    (NotImplementedError, "ops.take: indices=.0, 1.", lambda x: ops.take(x, [0, 1], axis=1)),
    (NotImplementedError, "ops.moveaxis: of several axes", lambda x: ops.moveaxis(x, (1, 2), (2, 1))),
])
def test_wrong_parts_say_why(error, text, use):
    with pytest.raises(error, match=text):
        use(keras.Input((4, 6)))
