"""CategoryEncoding and Discretization: what they refuse, and forms beside a batch. (Numbers beside Keras's: scripts/categories.py.)"""
import pickle

import numpy as np
import pytest

from cornu import keras

L = keras.layers
x = np.random.default_rng(3).normal(0, 1, (40, 3)).astype("float32")


def test_a_number_that_is_no_category_is_in_no_place():
    found = L.CategoryEncoding(2, output_mode="count")(np.array([[0, 1, 2, -1, 0.5, np.nan]]))
    assert found.tolist() == [[1, 1]] and not np.asarray(L.CategoryEncoding(3, "one_hot")([7, -1])).any()


def test_what_is_no_number_is_in_the_last_bin_and_infinite_ones_are_in_the_outer_ones():
    assert L.Discretization([0.0, 1.0, 1.0])([np.nan, np.inf, -np.inf, 1.0, 0.0]).tolist() == [3, 3, 0, 3, 1]


def test_counts_are_exact():
    for count in (3, 7, 49, 98, 4097):
        assert L.CategoryEncoding(2, "count")(np.ones((2, count))).tolist() == [[0, count]] * 2
        assert L.Discretization(list(range(count)))([[count + 0.5], [2]]).tolist() == [[count], [3]]


def test_bins_come_back_after_adapt():
    layer = L.Discretization(num_bins=4, output_mode="one_hot")
    layer.adapt(x)
    config = layer.get_config()
    assert config["num_bins"] == 4 and len(config["bin_boundaries"]) == 3
    for again in (L.Discretization.from_config(config), pickle.loads(pickle.dumps(layer)), L.deserialize(L.serialize(layer))):
        assert again.get_config() == config and np.array_equal(again(x), layer(x))
    layer.adapt(x[:20] + 1)
    assert layer.bin_boundaries != config["bin_boundaries"]


def test_a_model_that_is_there_has_the_bins_of_the_last_adapt():
    layer = L.Discretization(num_bins=3)
    around = L.TimeDistributed(L.Discretization(num_bins=2))
    model = keras.Sequential([keras.Input((3,)), layer, L.Reshape((3, 1)), around, L.Flatten(), L.Dense(1)])
    with pytest.raises(ValueError, match="bin_boundaries: found none; expected those that adapt"):
        model.predict(x, verbose=0)
    around.layer.adapt([[0.0, 1.0, 2.0, 3.0]])
    layer.adapt(x)
    model.compile("sgd", "mse")
    model.fit(x, x[:, 0], verbose=0)
    weights, before = model.get_weights(), model.predict(x, verbose=0)
    layer.adapt(x - 9)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), weights))
    assert not np.array_equal(model.predict(x, verbose=0), before)


def test_some_batches():
    layer = L.Discretization(num_bins=3)
    layer.adapt([[0.0, 1.0], [2.0]])
    assert layer.bin_boundaries == pytest.approx([0.0, 1.0])
    layer.adapt((x for _ in range(10**9)), steps=2)
    whole = layer.bin_boundaries
    layer.adapt([x, x])
    assert layer.bin_boundaries == whole


def test_older_scripts_find_them():
    assert keras.layers.experimental.preprocessing.CategoryEncoding is L.CategoryEncoding
    assert L.CategoryEncoding(3, output_mode="binary").get_config()["output_mode"] == "multi_hot"


@pytest.mark.parametrize("kind, text, call", [
    (ValueError, "found none; expected one of num_bins and bin_boundaries", lambda: L.Discretization()),
    (ValueError, "num_bins=3 and bin_boundaries", lambda: L.Discretization([1.0], num_bins=3)),
    (ValueError, "use `num_bins` instead", lambda: L.Discretization([1.0]).adapt(x)),
    (ValueError, "found 1 numbers", lambda: L.Discretization(num_bins=3).adapt(x[:1, :1])),
    (ValueError, "found 0 numbers", lambda: L.Discretization(num_bins=3).adapt([])),
    (ValueError, "not finite", lambda: L.Discretization(num_bins=3).adapt(np.array([1, np.nan]))),
    (TypeError, "found int", lambda: L.Discretization(num_bins=3).adapt(3)),
    (NotImplementedError, "count_weights", lambda: L.CategoryEncoding(3)(np.ones((2, 2)), count_weights=np.ones((2, 2)))),
    (NotImplementedError, "sparse", lambda: L.CategoryEncoding(3, sparse=True)),
    (ValueError, "num_tokens", lambda: keras.Sequential([keras.Input((3,)), L.CategoryEncoding()])),
])
def test_what_cannot_be_is_refused(kind, text, call):
    with pytest.raises(kind, match=text):
        call()
