"""The classes that are made from the library's tables: what they take, and what they say of themselves."""
import inspect
import json
import pickle

import numpy as np
import pytest

from cornu import keras
from cornu._tables import TABLES


@pytest.mark.parametrize("make", [
    lambda: keras.layers.Dense(3, foo=1),
    lambda: keras.layers.Dense(3, kwargs=1),
    lambda: keras.layers.Flatten(units=3),
    lambda: keras.layers.ReLU(alpha=0.1),
    lambda: keras.losses.MeanSquaredError(foo=1),
    lambda: keras.metrics.CategoricalAccuracy(k=3),
    lambda: keras.optimizers.SGD(foo=1),
    lambda: keras.initializers.Zeros(seed=1),
    lambda: keras.optimizers.schedules.CosineDecay(0.1, 10, foo=1),
    lambda: keras.layers.InputLayer((3,), foo=1),
])
def test_an_unknown_argument_is_an_error(make):
    with pytest.raises(TypeError, match="unexpected keyword|multiple values"):
        make()


@pytest.mark.parametrize("argument, value", [
    ("dtype", "float16"), ("dtype", np.float64), ("batch_size", 32), ("weights", [1]),
    ("dynamic", True), ("activity_regularizer", "l2"), ("batch_input_shape", (32, 4)),
])
def test_what_every_layer_of_keras_takes_and_cornu_lacks_is_refused(argument, value):
    with pytest.raises(NotImplementedError, match="not in cornu"):
        keras.layers.Flatten(**{argument: value})


def test_what_every_layer_takes():
    layer = keras.layers.Dense(2, name="head", dtype="float32", trainable=True, autocast=False, input_shape=(3,))
    assert layer.name == "head" and layer.trainable is True and layer.units == 2
    for begin in ({"input_shape": (3,)}, {"input_dim": 3}, {"batch_input_shape": (None, 3)}):
        model = keras.Sequential([keras.layers.Dense(2, **begin)])
        assert model.input_shape == (None, 3)
    with pytest.raises(ValueError, match="Expected `trainable` to be a boolean"):
        keras.layers.Dense(2, trainable=0)
    with pytest.raises(TypeError, match="name"):
        keras.layers.Dense(2, name=3)


def test_input_takes_a_shape_and_refuses_what_is_not_there():
    assert keras.Input((4, 4, 1)).shape == keras.Input(batch_shape=(None, 4, 4, 1)).shape == (None, 4, 4, 1)
    for said in ({"batch_size": 3}, {"dtype": "uint8"}, {"sparse": True}, {"ragged": True}, {"tensor": 1},
                 {"optional": True}):
        with pytest.raises(NotImplementedError, match=next(iter(said)).replace("tensor", "input_tensor")):
            keras.Input((4,), **said)


def test_other_spellings_stand_for_their_option():
    assert keras.layers.LeakyReLU(alpha=0.1).negative_slope == 0.1
    assert keras.layers.LeakyReLU(0.2).get_config()["negative_slope"] == 0.2
    with pytest.raises(TypeError, match="alpha and negative_slope"):
        keras.layers.LeakyReLU(alpha=0.1, negative_slope=0.1)


def test_arguments_go_by_keras_places():
    assert keras.metrics.BinaryAccuracy("hits").name == "hits"
    assert keras.metrics.TopKCategoricalAccuracy(3, "best").name == "best"
    assert keras.losses.BinaryCrossentropy(True, 0.0, -1, "sum_over_batch_size", "mine").name == "mine"
    assert keras.optimizers.schedules.CosineDecay(0.1, 10, 0.5, "mine", 0.2, 3).warmup_target == 0.2
    assert keras.layers.Conv2D(4, 3, (2, 2), "same").padding == "same"


def test_a_type_of_numbers_is_float32_everywhere():
    for kind in (keras.losses.MeanSquaredError, keras.metrics.CategoricalAccuracy, keras.layers.Flatten):
        for same in ("float32", np.float32, None):
            kind(dtype=same)
        with pytest.raises(NotImplementedError, match="float32"):
            kind(dtype="float64")


@pytest.mark.parametrize("module, kinds", [
    ("optimizers", {"adam": "Adam", "SGD": "SGD", "RMSprop": "RMSprop", "adamw": "AdamW"}),
    ("losses", {"mse": "MeanSquaredError", "categorical_crossentropy": "CategoricalCrossentropy"}),
    ("metrics", {"binary_accuracy": "BinaryAccuracy", "SparseCategoricalAccuracy": "SparseCategoricalAccuracy"}),
    ("initializers", {"he_normal": "HeNormal", "Zeros": "Zeros", "zeros": "Zeros"}),
])
def test_get_takes_names_classes_configurations_and_objects(module, kinds):
    module = getattr(keras, module)
    for name, kind in kinds.items():
        found = module.get(name)
        assert type(found).__name__ == kind
        assert module.get(found) is found
        assert type(module.get(type(found))) is type(found)
        assert module.get(module.serialize(found)).get_config() == found.get_config()
    with pytest.raises(ValueError, match="unknown; cornu has .*" + type(found).__name__):
        module.get("nothing of the kind")
    with pytest.raises(ValueError, match="expected a name"):
        module.get(3)


def test_activations_are_functions_and_initializers_objects():
    layer = keras.layers.Dense(2, "swish", kernel_initializer="he_normal",
                               bias_initializer=keras.initializers.Constant(2))
    assert layer.activation is keras.activations.silu and keras.layers.Dense(2).activation is keras.activations.linear
    assert isinstance(layer.kernel_initializer, keras.initializers.HeNormal)
    config = json.loads(json.dumps(layer.get_config()))
    assert config["activation"] == "silu" and config["bias_initializer"]["config"]["value"] == 2
    again = type(layer).from_config(config)
    assert again.get_config() == layer.get_config()
    for wrong in ({"activation": "reluu"}, {"kernel_initializer": "he"}):
        with pytest.raises(ValueError, match="unknown"):
            keras.layers.Dense(2, **wrong)
    with pytest.raises(NotImplementedError, match="of one's own"):
        keras.layers.Dense(2, activation=lambda x: x)


@pytest.mark.parametrize("row", [row for row in TABLES["layers"] if not row["operation"]], ids=lambda row: row["class_name"])
def test_every_layer_survives_its_configuration(row):
    given = {"units": 2, "filters": 2, "output_size": 2, "kernel_size": 3, "activation": "relu", "rate": 0.5, "scale": 2.0,
             "target_shape": (4, 1), "shape": (3,), "axes": 1, "dims": (2, 1), "n": 2, "input_dim": 5, "output_dim": 2,
             "num_heads": 2, "key_dim": 3, "stddev": 0.5, "num_tokens": 3, "bin_boundaries": [0.5, 1.0],
             "factor": (0.1, 0.2), "height_factor": 0.3, "width_factor": 0.4, "height": 2, "width": 3}
    cls = getattr(keras.layers, row["class_name"])
    own = inspect.signature(cls).parameters
    given |= {"equation": "ab,bc->ac", "output_shape": 3} if "equation" in own else {}
    given |= {"layer": keras.layers.GRU(3) if "backward_layer" in own else keras.layers.Dense(3),
              "cell": keras.layers.LSTMCell(4), "cells": [keras.layers.GRUCell(2), keras.layers.SimpleRNNCell(3)]}
    layer = cls(**{k: v for k, v in given.items() if k in own})
    config = json.loads(json.dumps(keras.layers.serialize(layer)))
    again = keras.layers.deserialize(config)
    assert type(again) is cls and again.get_config() == layer.get_config() and again.name == layer.name


def test_weights_of_a_layer_around_others_are_theirs():
    model = keras.Sequential([keras.Input((4, 2)), keras.layers.Bidirectional(keras.layers.RNN(keras.layers.LSTMCell(3)), name="both"),
                              keras.layers.Dense(2)])
    both = model.layers[0]
    assert [v.path for v in both.weights][3] == f"both/{both.backward_layer.name}/{both.backward_layer.cell.name}/kernel"
    assert len(both.forward_layer.weights) == 3 and both.backward_layer.cell.get_weights()[2].shape == (12,)
    assert both.backward_layer.go_backwards and not both.forward_layer.go_backwards and both.forward_layer.name.startswith("forward_rnn")
    copy = pickle.loads(pickle.dumps(both))
    assert all(np.array_equal(a, b) for a, b in zip(copy.get_weights(), both.get_weights()))
    steps = keras.layers.TimeDistributed(keras.layers.Dense(3))
    alone = steps.layer(np.ones((1, 2), "float32")) if steps.layer.weights else None
    assert alone is None and steps(np.ones((1, 5, 2), "float32")).shape == (1, 5, 3) and steps.layer.get_weights()[0].shape == (2, 3)


@pytest.mark.parametrize("ending", [".keras", ".h5", ".safetensors"])
def test_scores_and_directions_are_outputs_in_files(tmp_path, ending):
    begin = keras.Input((4, 3))
    y, scores = keras.layers.MultiHeadAttention(2, 3, name="attend")(begin, begin, return_attention_scores=True)
    forward, backward = keras.layers.Bidirectional(keras.layers.GRU(2), merge_mode=None, name="both")(y)
    assert scores.shape == (None, 2, 4, 4) and backward.shape == (None, 2)
    model = keras.Model(begin, [keras.layers.subtract([forward, backward]), scores])
    x = np.random.default_rng(1).random((3, 4, 3)).astype("float32")
    model.save(tmp_path / f"model{ending}")
    again = keras.models.load_model(tmp_path / f"model{ending}")
    assert all(np.array_equal(a, b) for a, b in zip(model.predict(x, verbose=0), again.predict(x, verbose=0)))
    assert np.allclose(again.predict(x, verbose=0)[1].sum(-1), 1)
    config = json.loads(again.to_json())["config"]
    assert config["output_layers"][1] == ["attend", 0, 1]
    kwargs = next(layer for layer in config["layers"] if layer["name"] == "attend")["inbound_nodes"][0]["kwargs"]
    assert kwargs == {"return_attention_scores": True}


@pytest.mark.parametrize("ending", [".keras", ".h5", ".safetensors"])
def test_states_of_recurrent_layers_are_in_files(tmp_path, ending):
    begin, other = keras.Input((4, 2)), keras.Input((3, 5))
    _, *states = keras.layers.Bidirectional(keras.layers.LSTM(2, return_state=True), name="both")(begin)
    h, *last = keras.layers.LSTM(2, return_state=True, name="next")(other, initial_state=states[1::-1])
    model = keras.Model([begin, other], [keras.layers.Dense(2)(keras.layers.concatenate([h, last[1]])), states[3], last[0]])
    arrays = [np.ones((3, 4, 2), "float32"), np.ones((3, 3, 5), "float32")]
    model.save(tmp_path / f"model{ending}")
    again = keras.models.load_model(tmp_path / f"model{ending}")
    assert all(np.array_equal(a, b) for a, b in zip(model.predict(arrays, verbose=0), again.predict(arrays, verbose=0)))
    entry = next(layer for layer in again.get_config()["layers"] if layer["name"] == "next")
    read = [tensor["config"]["keras_history"] for tensor in entry["inbound_nodes"][0]["kwargs"]["initial_state"]]
    assert read == [["both", 0, 2], ["both", 0, 1]] and json.loads(again.to_json())["config"]["output_layers"][1:] == [["both", 0, 4], ["next", 0, 1]]


def test_configurations_of_other_versions_of_keras_are_read():
    dtype = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    config = {"name": "n", "trainable": True, "dtype": dtype, "axis": -1, "rms_scaling": False}
    assert keras.layers.LayerNormalization.from_config(config).name == "n"
    with pytest.raises(NotImplementedError, match="rms_scaling"):
        keras.layers.LayerNormalization.from_config({**config, "rms_scaling": True})
    two = {"filters": 2, "kernel_size": [3, 3], "groups": 1, "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}},
           "kernel_regularizer": None, "kernel_constraint": None}
    assert keras.layers.SeparableConv2D.from_config(two).kernel_size == (3, 3)
    assert keras.layers.DepthwiseConv1D.from_config({"kernel_size": [3], "groups": 1}).kernel_size == (3,)
    with pytest.raises(NotImplementedError, match="groups"):
        keras.layers.Conv2DTranspose.from_config({"filters": 2, "kernel_size": 3, "groups": 2})
    with pytest.raises(NotImplementedError, match="ConvLSTM2D"):
        keras.layers.deserialize({"class_name": "ConvLSTM2D", "config": {}})
    with pytest.raises(ValueError, match="unknown"):
        keras.layers.deserialize({"class_name": "MyLayer", "config": {}})


@pytest.mark.parametrize("base", [keras.layers.Dense,
                                  keras.optimizers.Optimizer, keras.optimizers.schedules.LearningRateSchedule,
                                  keras.initializers.Initializer])
def test_a_class_of_ones_own_is_refused_at_once(base):
    with pytest.raises(NotImplementedError, match="of one's own"):
        type("Mine", (base,), {})


def adafactor_model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adafactor(0.1), "mse")
    return model


def test_adafactor_keeps_its_means_from_fit_to_fit_and_in_files(tmp_path):
    x, y = np.random.default_rng(1).uniform(size=(8, 7)).astype("float32")[:, :5], np.eye(8, 2, dtype="float32")
    whole, parts = adafactor_model(), adafactor_model()
    whole.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    parts.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    parts.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    parts.save(tmp_path / "parts.keras")
    read = keras.models.load_model(tmp_path / "parts.keras")
    read.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    for expected, found in zip(whole.get_weights(), read.get_weights()):
        np.testing.assert_array_equal(found, expected)


def test_adafactor_leaves_weights_whose_gradients_are_all_zero():
    x, y = np.random.default_rng(1).uniform(size=(8, 5)).astype("float32"), np.ones((8, 2), "float32")
    x[:, 1] = 0
    model = adafactor_model()
    weights = model.get_weights()
    weights[0][:, 2] = -1  # a unit that gives 0 for all samples
    model.set_weights(weights)
    model.fit(x, y, batch_size=4, epochs=2, verbose=0)
    assert all(np.isfinite(w).all() for w in model.get_weights())
    assert model.get_weights()[0][1, 2] == -1


def muon_model(name=None, **options):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(4, activation="relu", name="first"),
                              keras.layers.Dense(2, name="head")], name=name)
    model.compile(keras.optimizers.Muon(0.05, **options), "mse")
    return model


def test_muon_keeps_its_momentum_from_fit_to_fit_and_in_files(tmp_path):
    x, y = np.random.default_rng(1).uniform(size=(8, 5)).astype("float32"), np.eye(8, 2, dtype="float32")
    whole, parts = muon_model(exclude_layers=["head"]), muon_model(exclude_layers=["head"])
    whole.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    parts.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    parts.save(tmp_path / "parts.keras")
    read = keras.models.load_model(tmp_path / "parts.keras")
    assert read.optimizer.exclude_layers == ["head"]
    read.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    for expected, found in zip(whole.get_weights(), read.get_weights()):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name, options, velocities", [
    ("m", {}, 2), ("m", {"exclude_layers": ["head"]}, 3), ("m", {"exclude_layers": ["^m/first/k", "he[a-z]d"]}, 4),
    ("m", {"exclude_layers": ["^head"]}, 2), ("m_embedding", {}, 4), ("m_embedding", {"exclude_embeddings": False}, 2)])
def test_muon_uses_adamw_for_vectors_and_excluded_layers(name, options, velocities):
    model = muon_model(name, **options)
    model.fit(np.zeros((4, 5)), np.zeros((4, 2)), batch_size=4, verbose=0)
    assert len(model.optimizer.variables) == 2 + 4 + velocities


@pytest.mark.parametrize("expression, weights", [
    ("^m/a/kernel", 0), ("^m/a/lstm_cell/kernel", 1), ("^m/b/forward_g/gru_cell/rec", 1), ("^m/b/backward_g/ker", 0),
    ("^m/t/simple_rnn_cell", 0), ("^m/t/s/simple_rnn_cell", 2), ("^m/r/stacked.*/c/k", 1), ("cell", 14)])
def test_muon_finds_weights_of_recurrent_layers_by_the_paths_that_keras_has(expression, weights):
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((2, 4, 3)), layers.TimeDistributed(layers.SimpleRNN(3, name="s"), name="t"), layers.LSTM(3, return_sequences=True, name="a"),
        layers.Bidirectional(layers.GRU(2, return_sequences=True, name="g"), name="b"),
        layers.RNN([layers.LSTMCell(2, name="c"), layers.SimpleRNNCell(3)], name="r")], name="m")
    model.compile(keras.optimizers.Muon(exclude_layers=[expression]), "mse")
    model.fit(np.zeros((4, 2, 4, 3)), np.zeros((4, 3)), verbose=0)
    assert len(model.optimizer.variables) == 2 + 18 + 4 + weights


def test_muon_s_expressions_of_python_alone_are_refused():
    with pytest.raises(ValueError, match=r"exclude_layers\[0\].*begins at"):
        muon_model(exclude_layers=[r"\bhead"])


def test_keras_2_spellings_of_optimizers():
    with pytest.warns(DeprecationWarning, match="learning_rate"):
        optimizer = keras.optimizers.SGD(lr=0.1, momentum=0.9)
    assert optimizer.learning_rate == optimizer.lr == 0.1
    optimizer.lr = np.float32(0.5)
    assert optimizer.learning_rate == optimizer.get_config()["learning_rate"] == 0.5
    with pytest.raises(TypeError, match="learning_rate"):
        optimizer.learning_rate = "slow"
    with pytest.warns(DeprecationWarning, match="decay"):
        keras.optimizers.Adam(0.1, decay=0.0)
    with pytest.raises(TypeError, match="lr and learning_rate"):
        keras.optimizers.Adam(0.1, lr=0.1)
    with pytest.raises(TypeError, match="learning_rate"):
        keras.optimizers.Adam("fast")
    from cornu.keras.optimizers.legacy import SGD
    assert SGD is keras.optimizers.SGD is keras.optimizers.legacy.SGD
    with pytest.raises(NotImplementedError, match="MultiOptimizer"):
        keras.optimizers.legacy.MultiOptimizer


@pytest.mark.parametrize("make", [
    lambda: keras.optimizers.SGD(learning_rate=0.5, decay=0.25, momentum=0.9, nesterov=True),
    lambda: keras.optimizers.SGD(lr=0.5, decay=0.25), lambda: keras.optimizers.Adam(0.5, decay=0.25),
    lambda: keras.optimizers.RMSprop(0.5, decay=0.25), lambda: keras.optimizers.Adagrad(0.5, decay=np.float64(0.25))])
@pytest.mark.filterwarnings("ignore:SGD. lr")
def test_decay_of_keras_2_is_a_schedule(make):
    with pytest.warns(DeprecationWarning, match="decay is of Keras 2; the learning rate is InverseTimeDecay"):
        rate = make().learning_rate
    config = {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 0.25, "staircase": False}
    assert {key: value for key, value in rate.get_config().items() if key != "name"} == config


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_decay_is_a_number_beside_a_number():
    optimizer = keras.optimizers.SGD.from_config({"name": "SGD", "learning_rate": 0.5, "decay": 0.25, "momentum": 0.0,
                                                  "nesterov": False})
    assert optimizer.learning_rate.decay_rate == 0.25 and optimizer.learning_rate.decay_steps == 1
    assert keras.optimizers.Adam.from_config({"learning_rate": 0.5, "decay": 0.0}).learning_rate == 0.5
    for wrong in (-0.1, "slow", True, np.nan, np.inf):
        with pytest.raises(ValueError, match="Adam: decay: found .*; expected a number of at least 0"):
            keras.optimizers.Adam(decay=wrong)
    with pytest.raises(ValueError, match="decay: found 0.1 beside a schedule as learning_rate; expected one of the two"):
        keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5), decay=0.1)


def test_schedules_come_back_from_configurations():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    optimizer = keras.optimizers.get(json.loads(json.dumps(keras.optimizers.serialize(keras.optimizers.SGD(schedule)))))
    assert optimizer.learning_rate.get_config() == schedule.get_config()
    with pytest.raises(AttributeError, match="PolinomialDecay"):
        keras.optimizers.schedules.PolinomialDecay


def test_help_tells_the_options_with_their_defaults():
    text = keras.layers.Conv2D.__doc__
    assert text.startswith("Keras's Conv2D")
    assert "filters: a whole number; required." in text
    assert "padding: 'valid' or 'same'; default 'valid'." in text
    assert "Only as Keras has it by default: data_format=None." in text
    assert "Without effect: seed=None." in keras.layers.Dropout.__doc__
    assert "input_shape" in text and "lr" in keras.optimizers.SGD.__doc__  # what all of a kind take
    assert str(inspect.signature(keras.layers.Dropout)) == "(rate, noise_shape=None, seed=None, **kwargs)"
