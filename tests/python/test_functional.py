"""Networks of calls: what the functional API makes, shares and refuses. tests/python/scripts/functional.py compares its
numbers with Keras's."""
import copy
import gc
import json
import pickle

import numpy as np
import pytest

from cornu import keras
from cornu.keras import layers


def branching():
    image = keras.Input((8, 8, 1), name="image")
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="first")(image)
    y = layers.Conv2D(4, 3, padding="same", name="second")(x)
    x = layers.Flatten(name="flat")(layers.Add(name="sum")([x, y]))
    return keras.Model(image, layers.Dense(3, activation="softmax", name="classes")(x), name="branching")


@pytest.fixture
def net():
    m = branching()
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(v, w) for v, w in zip(a, b))


def test_a_tensor_knows_where_it_comes_from():
    image = keras.Input((8, 8, 1), name="image")
    dense = layers.Dense(3)
    rows = dense(layers.Flatten()(image))
    assert isinstance(rows, keras.KerasTensor) and rows.shape == (None, 3) and rows.ndim == 2 and rows.dtype == "float32"
    operation, node, tensor = rows._keras_history
    assert operation is dense and (node, tensor) == (0, 0) and dense.output is rows
    assert image.name == "image" and dense.input.shape == (None, 64)
    assert repr(image) == ("<KerasTensor shape=(None, 8, 8, 1), dtype=float32, sparse=False, ragged=False, name=image>")


def test_a_model_is_given_by_position_or_name():
    begin = keras.Input((4,))
    end = layers.Dense(2)(begin)
    for model in (keras.Model(begin, end, "named"), keras.Model(inputs=begin, outputs=end, name="named"),
                  keras.models.Model([begin], [end], name="named")):
        assert model.name == "named" and type(model).__name__ == "Functional" and isinstance(model, keras.Model)
        assert model.predict(np.ones((3, 4)), verbose=0).shape == (3, 2)
    assert isinstance(keras.Sequential(), keras.Model)


def test_a_subclass_is_named_as_keras_does():
    names = []
    for name in ("ResNet50Head", "HTTPNet2", "My_Net"):
        begin = keras.Input((2,))
        names.append(type(name, (keras.Model,), {})(begin, layers.Dense(2)(begin)).name)
    assert names == ["res_net50_head", "http_net2", "my__net"]


def test_a_layer_gives_its_first_output_though_nobody_held_it():
    begin, dense = keras.Input((4,)), layers.Dense(2)
    dense(begin)
    gc.collect()
    assert keras.Model(begin, dense.output).predict(np.ones((3, 4)), verbose=0).shape == (3, 2)


def test_automatic_names_of_models_are_kerass():
    """Keras takes one for each chain that gets its shapes, and one more whenever its layers change."""
    def functional():
        begin = keras.Input((4,))
        return keras.Model(begin, layers.Dense(4)(begin)).name

    keras.backend.clear_session()
    names = [functional()]
    chain = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.Dense(4)])
    for change in (lambda: None, lambda: chain.add(layers.Dense(4)), chain.pop):
        change()
        names.append(functional())
    later = keras.Sequential([layers.Dense(4)])
    later.add(layers.Dense(4))
    for change in (lambda: None, lambda: later.build((None, 4)), lambda: later(keras.Input((4,))),
                   lambda: keras.models.clone_model(later)):
        change()
        names.append(functional())
    numbers = [0, 2, 4, 6, 7, 9, 10, 12]
    assert names == [f"functional_{n}" if n else "functional" for n in numbers]


def test_training_one_model_trains_the_other(net, samples):
    features = keras.Model(net.input, net.get_layer("sum").output)
    head = keras.Model(net.get_layer("sum").output, net.output)
    x, y = samples
    before = net.get_weights()
    inner = features.predict(x, verbose=0)
    assert np.array_equal(head.predict(inner, verbose=0), net.predict(x, verbose=0))
    net.fit(x, y, verbose=0)
    assert same(features.get_weights(), net.get_weights()[:4]) and not same(net.get_weights()[:4], before[:4])
    head.compile("sgd", "sparse_categorical_crossentropy")
    trained = net.get_weights()
    head.fit(features.predict(x, verbose=0), y, verbose=0)
    assert same(net.get_weights()[:4], trained[:4]) and not np.array_equal(net.get_weights()[4], trained[4])
    assert head.layers[-1] is net.layers[-1] and head.input.shape == (None, 8, 8, 4)


def test_a_functional_model_keeps_all_in_files_and_copies(net, samples, tmp_path):
    net.fit(*samples, verbose=0)
    outputs = net.predict(samples[0], verbose=0)
    for name in ("net.keras", "net.h5", "net.safetensors"):
        net.save(tmp_path / name)
        loaded = keras.models.load_model(tmp_path / name)
        assert np.array_equal(loaded.predict(samples[0], verbose=0), outputs) and type(loaded) is type(net)
        assert [l.name for l in loaded.layers] == [l.name for l in net.layers]
        loaded.fit(*samples, verbose=0)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(other.predict(samples[0], verbose=0), outputs) and other.layers[1] is not net.layers[1]
        other.fit(*samples, verbose=0)
    assert np.array_equal(net.predict(samples[0], verbose=0), outputs)


def test_calls_of_a_layer_have_the_numbers_of_their_order():
    begin, shared = keras.Input((4,)), layers.Dense(4, name="shared")
    first, second = shared(begin), shared(layers.ReLU()(begin))
    model = keras.Model(begin, layers.Subtract(name="less")([second, first]))
    for config in (model.get_config(), json.loads(model.to_json())["config"]):
        read = config["layers"][-1]["inbound_nodes"][0]["args"][0]
        assert [tensor["config"]["keras_history"] for tensor in read] == [["shared", 1, 0], ["shared", 0, 0]]


def test_a_summary_says_what_a_layer_reads(net):
    lines = []
    net.summary(print_fn=lines.append)
    assert "Connected to" in lines[0] and "first[0][0]" in lines[0] and "second[0][0]" in lines[0]


def test_a_drawing_has_the_branches(net):
    text = keras.utils.model_to_dot(net, show_shapes=True).to_string()
    assert [line for line in text.splitlines() if "->" in line] == [
        "layer_0 -> layer_1;", "layer_1 -> layer_2;", "layer_1 -> layer_3;", "layer_2 -> layer_3;", "layer_3 -> layer_4;",
        "layer_4 -> layer_5;"]
    assert "Input shape: <b>[(None, 8, 8, 4), (None, 8, 8, 4)]</b>" in text


def test_models_within_models_share_their_layers(net, samples):
    x, y = samples
    for outer in (keras.Sequential([net, layers.Softmax()]), keras.Sequential([keras.Input((8, 8, 1)), net, layers.Softmax()]),
                  keras.Model(net.input, layers.Softmax()(net.output))):
        values = np.exp(net.predict(x, verbose=0))
        assert np.allclose(outer.predict(x, verbose=0), values / values.sum(-1, keepdims=True), atol=1e-6)
    other = keras.Input((8, 8, 1))
    outer = keras.Model(other, layers.Dense(2, activation="softmax", name="head")(net(other)))
    assert outer.layers[1] is net and outer.get_layer("branching") is net and same(outer.get_weights()[:6], net.get_weights())
    outer.compile("sgd", "sparse_categorical_crossentropy")
    before = net.get_weights()
    outer.fit(x, y % 2, verbose=0)
    assert same(outer.get_weights()[:6], net.get_weights()) and not same(before, net.get_weights())


TARGETS = {"zz": np.ones((12, 3)), "yy": np.zeros((12, 2))}


def by_names(outputs=dict):
    """Inputs and outputs in dictionaries, whose sorted keys are another order than that of their layers."""
    wide, deep = keras.Input((6,), name="wide"), keras.Input((6,), name="deep")
    both = layers.Add(name="sum")([layers.Dense(4, name="p")(deep), layers.Dense(4, name="q")(wide)])
    ends = {"zz": layers.Dense(3, name="u")(both), "yy": layers.Dense(2, name="v")(both)}
    return keras.Model({"right": deep, "left": wide}, ends if outputs is dict else outputs(ends.values()))


@pytest.fixture
def pairs():
    rng = np.random.default_rng(6)
    return {"left": rng.normal(size=(12, 6)).astype("float32"), "right": rng.normal(size=(12, 6)).astype("float32")}


def close(a, b):
    return list(a) == list(b) and all(np.allclose(a[key], b[key], atol=1e-6) for key in a)


def test_dictionaries_name_inputs_and_outputs(pairs, tmp_path):
    model = by_names()
    assert [t.name for t in model.inputs] == ["wide", "deep"] and model.output_names == ["v", "u"]
    outputs = model.predict(pairs, verbose=0)
    hidden = pairs["left"] @ model.get_layer("q").kernel.numpy() + pairs["right"] @ model.get_layer("p").kernel.numpy()
    assert list(outputs) == ["zz", "yy"] and np.allclose(outputs["zz"], hidden @ model.get_layer("u").kernel.numpy(), atol=1e-5)
    assert close(model(pairs), outputs) and close(model.predict_on_batch(pairs), outputs)
    assert close(model.predict([pairs["left"], pairs["right"]], verbose=0), outputs)
    model.compile("sgd", loss={"zz": "mse", "yy": "mae"}, loss_weights={"zz": 1.0, "yy": 0.5}, metrics={"zz": ["mae"]})
    history = model.fit(pairs, TARGETS, verbose=0, validation_data=(pairs, TARGETS)).history
    assert sorted(history) == ["loss", "val_loss", "val_yy_loss", "val_zz_loss", "val_zz_mae", "yy_loss", "zz_loss", "zz_mae"]
    scores = model.evaluate(pairs, TARGETS, verbose=0, return_dict=True)
    outputs = model.predict(pairs, verbose=0)
    assert np.isclose(scores["zz_loss"], np.mean((outputs["zz"] - 1) ** 2), rtol=1e-4)
    assert np.isclose(scores["yy_loss"], np.mean(np.abs(outputs["yy"])), rtol=1e-4)
    assert sorted(model.train_on_batch(pairs, TARGETS, return_dict=True)) == ["loss", "yy_loss", "zz_loss", "zz_mae"]
    outputs = model.predict(pairs, verbose=0)
    model.save(tmp_path / "net.keras")
    model.save(tmp_path / "net.safetensors")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    for other in (pickle.loads(pickle.dumps(model)), clone, again, keras.models.load_model(tmp_path / "net.keras"),
                  keras.models.load_model(tmp_path / "net.safetensors")):
        assert close(dict(sorted(other.predict(pairs, verbose=0).items())), dict(sorted(outputs.items())))
        assert set(other.input) == {"left", "right"}


@pytest.mark.parametrize("form", [list, tuple])
def test_outputs_have_the_form_that_they_were_given(pairs, form):
    model = by_names(form)
    outputs = model.predict(pairs, verbose=0)
    assert type(outputs) is form and [o.shape for o in outputs] == [(12, 3), (12, 2)]
    assert type(keras.models.clone_model(model).predict(pairs, verbose=0)) is form
    one = keras.Model([model.inputs[0]], [layers.Dense(2, name="alone")(model.inputs[0])])
    assert one.predict([pairs["left"]], verbose=0).shape == (12, 2)
    one.compile("sgd", "mse")
    one.fit([pairs["left"]], [TARGETS["yy"]], verbose=0)
    named = keras.Model(one.inputs, {"only": one.outputs[0]})
    assert list(named.predict(pairs["left"], verbose=0)) == ["only"]
    named.compile("sgd", "mse")
    assert list(named.fit(pairs["left"], {"only": TARGETS["yy"]}, verbose=0).history) == ["loss"]


def test_a_model_is_called_on_a_dictionary(pairs):
    model, first, second = by_names(), keras.Input((6,), name="first"), keras.Input((6,), name="second")
    made = model({"right": second, "left": first})
    outer = keras.Model([first, second], layers.Concatenate()([made["zz"], made["yy"]]))
    inner = model.predict(pairs, verbose=0)
    outputs = outer.predict([pairs["left"], pairs["right"]], verbose=0)
    assert np.allclose(outputs, np.concatenate([inner["zz"], inner["yy"]], 1), atol=1e-6)
    copied = keras.Model.from_config(outer.get_config())
    copied.set_weights(outer.get_weights())
    assert np.array_equal(copied.predict([pairs["left"], pairs["right"]], verbose=0), outputs)
    listed = keras.Model([first, second], layers.Subtract()([first, second]))({"second": first, "first": second})
    assert np.allclose(keras.Model([first, second], listed).predict([pairs["left"], pairs["right"]], verbose=0),
                       pairs["right"] - pairs["left"])
    for wrong in ({"left": first}, {"left": first, "right": second, "other": first}):
        with pytest.raises(ValueError, match="found (nothing for the input 'right'|'other')"):
            model(wrong)
    with pytest.raises(ValueError, match="dense.*: found a dictionary with 'x'; expected a tensor"):
        layers.Dense(2)({"x": first})


@pytest.mark.parametrize("text, use", [
    ("x: found 'wide'; the model's inputs are left, right", lambda m, x: m.predict({"wide": 1, "deep": 2})),
    ("x: found nothing for the input 'right'", lambda m, x: m.predict({"left": x["left"]})),
    ("y: found 'u'; the model's outputs are yy, zz", lambda m, x: m.evaluate(x, {"u": 0, "v": 0})),
    ("loss.u: found no output of this name; the model has yy, zz", lambda m, x: m.compile("sgd", loss={"u": "mse", "v": "mse"})),
    ('found key "a/b"; expected 1 to 200 characters without /',
     lambda m, x: keras.Model(m.input, {"a/b": m.output["yy"]}).predict(x)),
])
def test_a_wrong_name_is_told(pairs, text, use):
    model = by_names()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=text):
        use(model, pairs)


def test_a_call_on_arrays_leaves_the_network_as_it_is():
    x = np.random.default_rng(5).normal(size=(4, 6)).astype("float32")
    dense = layers.Dense(3, name="dense")
    numbers = dense(x)
    assert not dense._inbound_nodes and np.allclose(numbers, x @ dense.kernel.numpy(), atol=1e-6)
    with pytest.raises(AttributeError, match="dense has never been called"):
        dense.output
    tensor = dense(keras.Input((6,)))
    for _ in range(3):
        assert np.array_equal(dense(x), numbers)
    assert dense.output is tensor and len(dense._inbound_nodes) == 1
    assert np.array_equal(keras.Model(dense.input, tensor)(x), numbers) and len(dense._inbound_nodes) == 1
    with pytest.raises(ValueError, match="layer dense: found inputs of shape .3,."):
        dense(x[:, :3])
    assert layers.Dense(2)(np.zeros((2, 4, 6))).shape == (2, 4, 2) and layers.Softmax()([[1., 2.]]).shape == (1, 2)
    dropout = layers.Dropout(0.5)
    assert np.array_equal(dropout(x), x)


def test_a_merging_layer_is_called_on_arrays():
    x = np.arange(12, dtype="float32").reshape(2, 6)
    assert np.array_equal(layers.Add()([x, x, x]), 3 * x) and np.array_equal(layers.Average()([x]), x)
    assert np.array_equal(layers.Concatenate()([x, x[:, :2]]), np.concatenate([x, x[:, :2]], 1))
    assert np.allclose(layers.Dot(axes=1)([x, x]), (x * x).sum(1, keepdims=True))
    assert np.array_equal(layers.Multiply()([x.reshape(2, 3, 2), x[:, :2].astype("uint8")]), x.reshape(2, 3, 2) * x[:, None, :2])
    for wrong in (x, keras.Input((6,))):
        with pytest.raises(ValueError, match="add.*: A merge layer should be called on a list of inputs"):
            layers.Add()(wrong)
    with pytest.raises(ValueError, match="of shape .2, 6. among its inputs; expected KerasTensors alone"):
        layers.Add()([keras.Input((6,)), x])


def test_a_call_on_arrays_leaves_no_objects():
    dense, x = layers.Dense(3), np.zeros((2, 6), np.float32)
    dense(x)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        dense(x)
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def grows(outer_of):
    """An inner chain that gets layers after an outer model has called it."""
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(5, name="h")], name="inner")
    return inner, outer_of(inner)


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("outer_of", [
    lambda inner: keras.Model(begin := keras.Input((6,)), layers.Activation("tanh")(inner(begin))),
    lambda inner: keras.Sequential([keras.Input((6,)), inner, layers.Activation("tanh")]),
    lambda inner: keras.Sequential([keras.Sequential([keras.Input((6,)), inner]), layers.Activation("tanh")])])
def test_an_inner_model_that_grows_grows_in_the_outer(outer_of, asked_before):
    inner, outer = grows(outer_of)
    x = np.random.default_rng(3).normal(size=(12, 6)).astype("float32")
    if asked_before:
        outer.predict(x, verbose=0)
    inner.add(layers.Dense(3, name="g"))
    assert len(outer.weights) == 4 and outer.count_params() == 53
    assert np.allclose(outer.predict(x, verbose=0), np.tanh(inner.predict(x, verbose=0)), atol=1e-6)
    outer.compile("sgd", "mse")
    inner.add(layers.Dense(2, name="k"))
    before = inner.get_weights()
    outer.fit(x, np.zeros((12, 2)), verbose=0)
    assert len(outer.weights) == 6 and not any(map(np.array_equal, before, inner.get_weights()))
    inner.pop()
    assert np.allclose(outer.predict(x, verbose=0), np.tanh(inner.predict(x, verbose=0)), atol=1e-6)
    inner.pop()
    assert outer.predict(x, verbose=0).shape == (12, 5)


def test_an_inner_model_that_no_longer_fits_is_told():
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(5)], name="inner")
    outer = keras.Sequential([keras.Input((6,)), inner, layers.Dense(2, name="head")])
    begin = keras.Input((6,))
    branch = keras.Model(begin, outer.layers[-1](inner(begin)))
    inner.add(layers.Dense(3))
    for model in (outer, branch):
        with pytest.raises(ValueError, match=r"head.*would .*\(3, 2\).*\(5, 2\)"):
            model.predict(np.zeros((2, 6)), verbose=0)
    inner.pop()
    assert outer.predict(np.zeros((2, 6)), verbose=0).shape == branch.predict(np.zeros((2, 6)), verbose=0).shape == (2, 2)


@pytest.mark.parametrize("ending", [".safetensors", ".keras", ".h5", ".weights.h5"])
def test_weights_by_order_reach_the_layers_of_models_within(ending, tmp_path):
    """The library's order of layers takes the models within apart, which `weights` does not."""
    def net(names):
        begin = keras.Input((6,))
        inner_begin = keras.Input((6,))
        two = layers.Dense(6, activation="relu", name=names + "two")(layers.Dense(6, activation="tanh", name=names + "one")(inner_begin))
        inner = keras.Model(inner_begin, two, name=names + "inner")
        side = layers.Dense(6, name=names + "side")(begin)
        for number in range(2):
            side = layers.Dense(6, name=f"{names}side_{number}")(side)
        return keras.Model(begin, layers.Subtract(name=names + "out")([layers.Dense(6, name=names + "last")(inner(begin)), side]))

    x = np.random.default_rng(4).normal(size=(12, 6)).astype("float32")
    for names in ("", "other_"):
        one, two = net(""), net(names)
        (one.save_weights if "weights" in ending else one.save)(tmp_path / f"net{ending}")
        two.load_weights(tmp_path / f"net{ending}")
        assert np.allclose(two.predict(x, verbose=0), one.predict(x, verbose=0), atol=1e-6)


def test_a_network_is_freed_with_its_last_reference():
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            branching().predict(np.zeros((1, 8, 8, 1), np.float32), verbose=0)
        assert len(gc.get_objects()) - before < 200
    finally:
        gc.enable()


@pytest.fixture
def tensors():
    return keras.Input((8, 8, 3), name="left"), keras.Input((8, 8, 3), name="right")


@pytest.mark.parametrize("error, text, use", [
    (ValueError, "Graph disconnected.*name=right.* at operation 'add", lambda a, b: keras.Model(a, layers.Add()([a, b]))),
    (ValueError, "found left, an input, among the outputs", lambda a, b: keras.Model(a, a)),
    (ValueError, 'The name "d" is used 2 times',
     lambda a, b: keras.Model(a, layers.Dense(3, name="d")(layers.Dense(3, name="d")(a)))),
    (ValueError, "input twice", lambda a, b: keras.Model([a, a], layers.Flatten()(a))),
    (ValueError, "found 3 of type int among outputs", lambda a, b: keras.Model(a, 3)),
    (ValueError, "no layer made", lambda a, b: layers.Dense(3)(keras.KerasTensor((None, 4)))),
    (NotImplementedError, "a model without inputs= and outputs=", lambda a, b: keras.Model()),
    (ValueError, r"add.*\(Add\): found inputs \(8, 8, 3\) and \(4\)", lambda a, b: layers.Add()([a, keras.Input((4,))])),
    (ValueError, r"expects 1 input\(s\), but it received 2", lambda a, b: layers.Flatten()([a, b])),
    (ValueError, "height, width, channels", lambda a, b: layers.Conv2D(2, 3)(keras.Input((4,)))),
    (ValueError, "would need weights", lambda a, b: [d := layers.Dense(2), d(a), d(keras.Input((5,)))]),
    (AttributeError, "never been called", lambda a, b: layers.Dense(2).output),
    (ValueError, "cannot be used as input to a NumPy function", lambda a, b: np.asarray(a)),
    (TypeError, "as a boolean", lambda a, b: bool(a)),
    (NotImplementedError, "Iterating", lambda a, b: list(a)), (ValueError, "no number yet", lambda a, b: float(a)),
    (NotImplementedError, "training=True", lambda a, b: layers.Dropout(0.5)(a, training=True)),
    (ValueError, "layer at index 7", lambda a, b: branching().get_layer(index=7)),
    (ValueError, "no layer nothing", lambda a, b: branching().get_layer("nothing")),
    (ValueError, r"shapes \(8, 8, 3\) for branching", lambda a, b: branching()(a)),
])
def test_wrong_uses_say_why(tensors, error, text, use):
    with pytest.raises(error, match=text):
        use(*tensors)
