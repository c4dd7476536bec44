"""A model as Graphviz draws it; a script stands in for Graphviz."""
import re

import pytest

from cornu import keras


@pytest.fixture
def graphviz(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "dot"
    program.write_text("#!/bin/sh\ncase $1 in -Ttga) echo 'no such format' >&2; exit 1;; esac\necho \"$1\"; cat\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    return folder


@pytest.fixture
def no_graphviz(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_each_layer_is_a_node_and_each_pair_an_edge(model):
    text = keras.utils.model_to_dot(model).to_string()
    assert re.findall(r"(\w+) -> (\w+)", text) == [(f"layer_{i}", f"layer_{i + 1}") for i in range(3)]
    for layer in model.layers:
        assert f"<b>{layer.name}</b> ({type(layer).__name__})" in text
    assert "shape:" not in text and "float32" not in text and "Activation" not in text and "Trainable" not in text


def test_what_is_asked_for_is_shown(model):
    text = keras.utils.model_to_dot(model, show_shapes=True, show_dtype=True, show_layer_names=False, rankdir="LR",
                                    dpi=96, show_layer_activations=True, show_trainable=True,
                                    splines="curved").to_string()
    shapes = ["(None, 8, 8, 1)", "(None, 6, 6, 4)", "(None, 3, 3, 4)", "(None, 36)", "(None, 3)"]
    assert re.findall(r"Output shape: <b>(.*?)</b>", text) == shapes[1:]
    assert re.findall(r"Input shape: <b>(.*?)</b>", text) == shapes[:-1]
    assert re.findall(r"Activation: <b>(.*?)</b>", text) == ["relu", "softmax"]
    assert text.count("float32") == 4 and text.count("Trainable") == 2
    assert 'rankdir=LR, concentrate=true, dpi=96, splines="curved"' in text and model.layers[0].name not in text


def test_names_cannot_break_the_text():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, name='<a>&"b')], name='m"')
    text = keras.utils.model_to_dot(model).to_string()
    assert 'digraph "m\\""' in text and "&lt;a&gt;&amp;&quot;b" in text


def test_dot_files_need_no_graphviz(model, tmp_path, no_graphviz):
    keras.utils.plot_model(model, tmp_path / "model.dot", show_shapes=True)
    written = (tmp_path / "model.dot").read_text()
    assert written == keras.utils.model_to_dot(model, show_shapes=True, show_layer_names=False).to_string()
    with pytest.raises(ImportError, match="no program dot; expected Graphviz"):
        keras.utils.plot_model(model, tmp_path / "model.png")
    assert not (tmp_path / "model.png").exists()


def test_pictures_are_drawn_by_graphviz(model, tmp_path, graphviz):
    for name, option in (("a.png", "-Tpng"), ("a.svg", "-Tsvg"), ("a.pdf", "-Tpdf"), ("a", "-Tpng")):
        keras.utils.plot_model(model, str(tmp_path / name))
        first, rest = (tmp_path / name).read_text().split("\n", 1)
        assert first == option and rest.startswith("digraph ")
    assert keras.utils.model_to_dot(model).create(prog="dot", format="svg").startswith(b"-Tsvg")
    with pytest.raises(RuntimeError, match="no such format"):
        keras.utils.plot_model(model, tmp_path / "a.tga")


@pytest.mark.parametrize("error, text, use", [
    (ValueError, "not built", lambda m: keras.utils.model_to_dot(keras.Sequential([keras.layers.Dense(2)]))),
    (ValueError, "rankdir", lambda m: keras.utils.model_to_dot(m, rankdir="down")),
    (NotImplementedError, "subgraph", lambda m: keras.utils.model_to_dot(m, subgraph=True)),
])
def test_wrong_uses_say_why(model, error, text, use):
    with pytest.raises(error, match=text):
        use(model)


def test_models_within_are_clusters_of_their_layers():
    L = keras.layers
    seen = keras.Input((4,), name="seen")
    stem = keras.Sequential([keras.Input((4,)), L.Dense(3, name="first"), L.Dense(4, name="second")], name="stem")
    encoder = keras.Model(seen, [L.Dense(2, name="left")(stem(seen)), L.Dense(2, name="right")(seen)], name="encoder")
    begin = keras.Input((4,), name="begin")
    left, right = encoder(begin)
    model = keras.Model(begin, L.Add(name="sum")([left, right]))
    text = keras.utils.model_to_dot(model, expand_nested=True).to_string()
    assert re.findall(r"subgraph \w+ {\nlabel=(.*?);", text) == ['"encoder"', '"stem"']
    names = {number: name for number, name in re.findall(r"(layer_\w+) \[.*?<b>(\w+)</b> \(", text)}
    edges = {tuple(names[end] for end in edge) for edge in re.findall(r"(\w+) -> (\w+);", text)}
    assert edges == {("begin", "seen"), ("seen", "first"), ("first", "second"), ("second", "left"), ("seen", "right"),
                     ("left", "sum"), ("right", "sum")}
    assert text.count("{") == text.count("}") and len(names) == 7
    plain = keras.utils.model_to_dot(model).to_string()
    assert "subgraph" not in plain and "<b>encoder</b> (Functional)" in plain
