"""Losses and metrics as functions; peers/python_face.py holds their numbers against Keras's."""
import numpy as np
import pytest

from cornu import keras


def test_a_function_names_its_loss_or_metric(model, samples):
    x, y = samples
    scores = []
    for loss, metric in ((keras.losses.sparse_categorical_crossentropy, keras.metrics.sparse_categorical_accuracy),
                         ("sparse_categorical_crossentropy", "sparse_categorical_accuracy")):
        model.compile("adam", loss, metrics=[metric])
        scores.append(model.evaluate(x, y, verbose=0, return_dict=True))
    assert scores[0] == scores[1] and list(scores[0]) == ["loss", "sparse_categorical_accuracy"]
    assert isinstance(keras.losses.get(keras.losses.mse), keras.losses.MeanSquaredError)
    assert isinstance(keras.metrics.get(keras.metrics.binary_accuracy), keras.metrics.BinaryAccuracy)
    assert keras.losses.MSE is keras.losses.mse is keras.losses.mean_squared_error


def test_an_optimizer_of_ones_own_is_refused():
    with pytest.raises(NotImplementedError, match="of one's own"):
        keras.optimizers.get(lambda: 0)


def test_functions_agree_with_what_evaluate_says(model, samples):
    x, y = samples
    outputs, loss = model.predict(x, verbose=0), keras.losses.sparse_categorical_crossentropy
    expected = model.evaluate(x, y, verbose=0, return_dict=True)
    assert loss(y, outputs).mean() == pytest.approx(expected["loss"], rel=1e-4)
    assert keras.metrics.sparse_categorical_accuracy(y, outputs).mean() == pytest.approx(expected["accuracy"])
    rows = keras.utils.to_categorical(y, 3)
    assert np.allclose(keras.losses.categorical_crossentropy(rows, outputs), loss(y, outputs))
    assert np.allclose(loss(y[:, None], np.log(outputs), from_logits=True), loss(y, outputs), atol=1e-5)
    assert keras.metrics.top_k_categorical_accuracy(rows, outputs, k=3).mean() == 1


def test_a_perfect_prediction_costs_next_to_nothing():
    rows = np.eye(3, dtype=np.float32)
    assert np.all(keras.losses.categorical_crossentropy(rows, rows) < 1e-6)
    assert np.all(keras.losses.binary_crossentropy(rows, rows) < 1e-6)
    assert np.all(keras.losses.mae(rows, rows) == 0) and np.all(keras.metrics.binary_accuracy(rows, rows) == 1)


@pytest.mark.parametrize("refused, use", [
    ("ignore_class", lambda r: keras.losses.sparse_categorical_crossentropy([0, 1, 2], r, ignore_class=0)),
    ("axis", lambda r: keras.losses.sparse_categorical_crossentropy([0, 1, 2], r, axis=0)),
    ("from_sorted_ids", lambda r: keras.metrics.sparse_top_k_categorical_accuracy([0, 1, 2], r, from_sorted_ids=True)),
])
def test_arguments_that_are_not_there_are_refused(refused, use):
    with pytest.raises(NotImplementedError, match=refused):
        use(np.eye(3, dtype=np.float32))


def test_activations_take_keras_arguments():
    x = np.array([-2.0, 0.25, 1.0, 5.0])
    relu = keras.activations.relu
    assert np.allclose(relu(x), [0, 0.25, 1, 5]) and np.allclose(keras.activations.leaky_relu(x), [-0.4, 0.25, 1, 5])
    assert np.allclose(relu(x, negative_slope=0.1, max_value=2, threshold=0.5), [-0.25, -0.025, 1, 2])
    assert np.allclose(keras.activations.softmax(np.eye(2), axis=0).sum(0), 1)
    assert keras.activations.sigmoid(np.array([-1000.0, 1000.0])).tolist() == [0, 1]  # without an overflow


def test_class_numbers_of_places_are_those_of_one_hot_targets():
    begin = keras.Input((3, 4, 2))
    model = keras.Model(begin, keras.layers.Dense(3, activation="softmax")(begin))
    x = np.random.default_rng(0).normal(size=(6, 3, 4, 2)).astype("float32")
    classes = np.random.default_rng(1).integers(0, 3, (6, 3, 4))
    weights, logs = model.get_weights(), []
    for loss, y in (("categorical_crossentropy", np.eye(3)[classes]), ("sparse_categorical_crossentropy", classes),
                    ("sparse_categorical_crossentropy", classes[..., None])):
        model.set_weights(weights)
        model.compile("sgd", loss, metrics=["accuracy"])
        logs.append(model.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0).history)
        logs[-1]["weights"] = [w.tolist() for w in model.get_weights()]
    assert logs[0] == logs[1] == logs[2] and logs[0]["accuracy"][0] > 0
    for wrong, text in ((classes + 1, "class numbers from 1 to 3; expected whole ones from 0 to 2"),
                        (classes[:, 0], r"found targets of shape \(6, 4\)"), (classes / 2, "expected whole ones")):
        with pytest.raises(ValueError, match=text):
            model.fit(x, wrong, verbose=0)
    for y in (classes, np.eye(3)[classes]):
        model.compile("sgd", "sparse_categorical_crossentropy" if y is classes else "categorical_crossentropy")
        with pytest.raises(NotImplementedError, match="class_weight: found a model with the output .None, 3, 4, 3., a class for each of several places"):
            model.fit(x, y, class_weight={0: 2.0}, verbose=0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_hinge_losses_take_signs_or_bits(loss):
    x, signs = np.eye(4, dtype=np.float32), np.array([[-1.0], [1], [1], [-1]])
    losses = []
    for y in (signs, (signs + 1) / 2):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", loss)
        losses.append(model.fit(x, y, batch_size=2, shuffle=False, verbose=0).history["loss"])
    assert losses[0] == losses[1]
    with pytest.raises(ValueError, match=f"found the target 0 in sample 1 and -1 in sample 0; {loss} expects"):
        model.fit(x, [[-1], [0], [1], [1]], verbose=0)


def test_a_binary_focal_loss_wants_no_softmax():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "binary_focal_crossentropy")
    with pytest.raises(NotImplementedError, match="binary_focal_crossentropy: found a softmax before it"):
        model.evaluate(np.zeros((2, 4)), np.zeros((2, 3)), verbose=0)


def test_a_loss_reduces_the_losses_of_rows():
    y, p = np.array([[0.0, 1], [2, 3]]), np.array([[1.0, 1], [0, 0]])
    for reduction, expected in (("sum", 3), ("mean", 1.5), ("sum_over_batch_size", 1.5), (None, [0.5, 2.5])):
        assert np.allclose(keras.losses.MeanAbsoluteError(reduction=reduction)(y, p), expected)
    assert np.allclose(keras.losses.MeanAbsoluteError("mean_with_sample_weight")(y, p, [3, 1]), 1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.MeanAbsoluteError(reduction="sum"))
    model.set_weights([np.eye(2), np.zeros(2)])
    assert model.evaluate(p, y, batch_size=2, verbose=0) == 3
    with pytest.raises(ValueError, match="reduction: found null; expected sum_over_batch_size, sum"):
        model.compile("sgd", keras.losses.MeanAbsoluteError(reduction=None))


@pytest.mark.parametrize("weights", [{0: 2.0}, {1: 3.0}, {0: 2, 1: 1, 2: 1, 3: 1}])
def test_one_hot_targets_have_weights_of_their_classes(weights):
    begin = keras.Input((4,))
    model = keras.Model(begin, keras.layers.Dense(3, activation="softmax")(begin))
    x, classes = np.random.default_rng(0).normal(size=(6, 4)).astype("float32"), np.array([0, 1, 2, 2, 1, 0])
    start, losses = model.get_weights(), []
    for loss, y in (("categorical_crossentropy", np.eye(3)[classes]), ("sparse_categorical_crossentropy", classes)):
        model.set_weights(start)
        model.compile("sgd", loss)
        losses.append(model.fit(x, y, batch_size=6, class_weight=weights, verbose=0).history["loss"][0])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
