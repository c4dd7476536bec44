"""Models of several inputs and outputs: what is refused, by the name of the input or output. Their numbers are compared with
Keras's in scripts/towers.py."""
import numpy as np
import pytest
from cornu import keras

A, B, Y, Z = np.ones((6, 3)), np.ones((6, 2)), np.arange(6) % 4, np.ones((6, 1))


def two_towers():
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    both = keras.layers.Add(name="sum")([a, keras.layers.Dense(3, name="right")(b)])
    kind, price = keras.layers.Dense(4, activation="softmax", name="kind")(both), keras.layers.Dense(1, name="price")(both)
    model = keras.Model([a, b], [kind, price])
    model.compile("sgd", loss=["sparse_categorical_crossentropy", "mse"])
    return model


WRONG = [
    ("one array.*2 inputs, a, b", lambda m: m.fit(A, [Y, Z], verbose=0)),
    ("found 'c'; the model's inputs are a, b", lambda m: m.fit({"a": A, "c": B}, [Y, Z], verbose=0)),
    ("nothing for the input 'b'", lambda m: m.predict({"a": A}, verbose=0)),
    (r"\['b'\]: found samples of shape \(3,\)", lambda m: m.predict([A, A], verbose=0)),
    ("arrays of 6, 5 samples", lambda m: m.predict([A, B[:5]], verbose=0)),
    ("2 outputs, kind, price", lambda m: m.evaluate([A, B], Y, verbose=0)),
    ("nothing for the output 'price'", lambda m: m.evaluate([A, B], {"kind": Y}, verbose=0)),
    (r"\['kind'\]: found class numbers from 0.0 to 4.0", lambda m: m.train_on_batch([A, B], [np.arange(6.0) % 5, Z])),
    (r"\['price'\]: found targets of shape \(6, 2\)", lambda m: m.train_on_batch([A, B], [Y, B])),
    ("class_weight: found a model of 2 outputs", lambda m: m.fit([A, B], [Y, Z], class_weight={0: 2.0}, verbose=0)),
    ("class_weight: found a model of several", lambda m: m.train_on_batch([A, B], [Y, Z], class_weight={0: 2.0})),
    ("sample_weight: found 1 things; expected an array for each of the model's 2 outputs",
     lambda m: m.fit([A, B], [Y, Z], sample_weight=[np.ones(6)], verbose=0)),
    ("sample_weight: found nothing for the output 'price'",
     lambda m: m.train_on_batch([A, B], [Y, Z], sample_weight={"kind": np.ones(6)})),
    (r"sample_weight\['price'\]: found weights of shape \(5,\); expected \(6,\)",
     lambda m: m.evaluate([A, B], [Y, Z], sample_weight=[None, np.ones(5)], verbose=0)),
    (r"sample_weight\['kind'\]: found weights that are not finite",
     lambda m: m.test_on_batch([A, B], [Y, Z], sample_weight=[np.full(6, np.inf), None])),
    (r"sample_weight: found weights of shape \(6, 2\); expected \(6,\)",
     lambda m: m.fit([A, B], [Y, Z], sample_weight=np.ones((6, 2)), verbose=0)),
    ("a batch of the stream: found other targets or weights",
     lambda m: m.fit((([A, B], [Y, Z], w) for w in ([np.ones(6), None], np.ones(6))), verbose=0)),
    ("found no output of this name", lambda m: m.compile("sgd", loss={"kind": "mse", "prize": "mse"})),
    ("found no loss of the output price; expected one for each output, or null",
     lambda m: m.compile("sgd", loss={"kind": "mse"})),
    ("found no loss; expected that of at least one output", lambda m: m.compile("sgd", loss=[None, None])),
    ("found 1 loss_weights; expected 2", lambda m: m.compile("sgd", loss="mse", loss_weights=[1])),
    ("found 1 entries; expected 2", lambda m: m.compile("sgd", loss="mse", metrics=["mae"])),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_use_is_refused_and_the_model_goes_on(number):
    text, use = WRONG[number]
    model = two_towers()
    with pytest.raises(ValueError, match=text):
        use(model)
    model.fit([A, B], [Y, Z], verbose=0)


def test_weights_of_the_samples_may_be_lists_of_numbers():
    model = two_towers()
    scores = [model.evaluate([A, B], [Y, Z], sample_weight=weights, verbose=0)
              for weights in ([0, 1, 2, 3, 4, 5], [np.arange(6)] * 2, ([0, 1, 2, 3, 4, 5], np.arange(6.0).reshape(6, 1)))]
    assert scores[0] == scores[1] == scores[2]


def test_metrics_names_are_in_the_order_of_evaluates_list():
    model = two_towers()
    model.compile("sgd", loss="mse", metrics={"price": "mae", "kind": ["mae", "mse"]})
    names = ["loss", "kind_loss", "price_loss", "kind_mae", "kind_mse", "price_mae"]
    assert model.metrics_names == names
    values = model.evaluate([A, B], [np.eye(4)[Y], Z], verbose=0)
    scores = model.evaluate([A, B], [np.eye(4)[Y], Z], verbose=0, return_dict=True)
    assert dict(zip(names, values)) == scores
    assert abs(scores["loss"] - scores["kind_loss"] - scores["price_loss"]) < 1e-6
    assert abs(scores["kind_mse"] - scores["kind_loss"]) < 1e-6


def test_metrics_of_one_name_are_numbered():
    model = two_towers()
    model.compile("sgd", loss="mse", metrics=[["mse", "mae", "mse"], ["mae"]])
    names = ["loss", "kind_loss", "price_loss", "kind_mae", "kind_mse", "kind_mse_1", "price_mae"]
    assert model.metrics_names == names
    values = model.evaluate([A, B], [np.eye(4)[Y], Z], verbose=0)
    assert dict(zip(names, values)) == model.evaluate([A, B], [np.eye(4)[Y], Z], verbose=0, return_dict=True)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse", metrics=[["mae", "mae"], "mae"])
    assert model.metrics_names == ["loss", "mae", "mae_1", "mae_2"] and len(set(model.evaluate(A, Z, verbose=0)[1:])) == 1


def test_an_output_without_a_loss_needs_no_targets():
    model, x = two_towers(), [A, B]
    model.compile("sgd", loss=["sparse_categorical_crossentropy", None])
    assert model.metrics_names == ["loss"]
    loss = model.evaluate(x, Y, verbose=0)
    for y in ([Y], [Y, None], {"kind": Y}, {"kind": Y, "price": None}, [Y, Z], [Y, np.ones((6, 9))], Y.tolist()):
        assert model.evaluate(x, y, verbose=0) == loss
    for y, text in (([Y, Z[:5]], r"\['price'\]: found targets of shape \(5, 1\); expected 6 samples, or None"),
                    ([None, Z], r"\['kind'\]: found None; expected targets"), ([Y, Z, Z], "found 3 things"),
                    ({"price": Z}, "found nothing for the output 'kind'"), ({"kind": Y, "prize": Z}, "found 'prize'")):
        with pytest.raises(ValueError, match=text):
            model.fit(x, y, verbose=0)
    weighted = [model.evaluate(x, [Y], sample_weight=w, verbose=0)
                for w in (np.arange(6), [np.arange(6)], [np.arange(6), None], {"kind": np.arange(6)})]
    assert weighted == weighted[:1] * 4 != [loss] * 4
    model.compile("sgd", loss=[None, "mse"], metrics=[["sparse_categorical_accuracy"], ["mse"]])
    assert model.metrics_names == ["loss", "kind_sparse_categorical_accuracy", "price_mse"]
    scores = model.evaluate(x, [Y, Z], verbose=0)
    assert scores[0] == pytest.approx(scores[2]) and (scores[1] * 6) % 1 == pytest.approx(0)
    with pytest.raises(ValueError, match="found 1 things; expected an array for each of the model's 2 outputs"):
        model.evaluate(x, [Z], verbose=0)


def test_one_output_takes_a_weight_of_its_loss():
    x, y = np.linspace(0, 1, 12).reshape(6, 2), np.linspace(-1, 1, 6)
    losses = []
    for weight in (None, 0.5, [0.5]):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse", loss_weights=weight)
        losses.append(model.evaluate(x, y, verbose=0))
    assert losses[1] == losses[2] == pytest.approx(losses[0] / 2, rel=1e-6)
