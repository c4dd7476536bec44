"""Layers keep their weights, whatever is done with them, and models that have the same layer share its weights: as in
Keras, nothing draws them anew but a new layer."""
import copy
import gc
import pickle
import time

import numpy as np
import pytest

from cornu import keras
from cornu.keras import layers


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(v, w) for v, w in zip(a, b))


@pytest.fixture
def trained(model, samples):
    model.fit(*samples, verbose=0)
    return model


def features(model, count=3):
    return keras.Sequential([keras.Input((8, 8, 1)), *model.layers[:count]])


def test_layers_of_a_trained_model_keep_their_weights(trained, samples):
    before, outputs = trained.get_weights(), trained.predict(samples[0], verbose=0)
    part = features(trained)
    assert part.layers[0] is trained.layers[0]
    assert same(part.get_weights(), before[:2]) and same(trained.get_weights(), before)
    assert np.array_equal(trained.predict(samples[0], verbose=0), outputs)
    whole = keras.Sequential([keras.Input((8, 8, 1)), *trained.layers])
    assert np.array_equal(whole.predict(samples[0], verbose=0), outputs)
    without_input = keras.Sequential(trained.layers[:2])
    assert not without_input.built
    assert same([without_input.predict(samples[0], verbose=0)], [keras.Sequential(
        [keras.Input((8, 8, 1)), *trained.layers[:2]]).predict(samples[0], verbose=0)])


def test_models_that_have_a_layer_share_its_weights(trained, samples):
    x, y = samples
    head = keras.Sequential([keras.Input((8, 8, 1)), *trained.layers[:3], layers.Dense(3, activation="softmax")])
    head.compile("adam", "sparse_categorical_crossentropy")
    before = trained.get_weights()
    head.fit(x, y, verbose=0)
    changed = trained.get_weights()
    assert not np.array_equal(changed[0], before[0]) and np.array_equal(changed[0], head.get_weights()[0])
    assert same(changed[2:], before[2:])
    alone = keras.models.clone_model(trained)
    alone.set_weights(changed)
    assert np.array_equal(alone.predict(x, verbose=0), trained.predict(x, verbose=0))
    trained.train_on_batch(x, y)
    assert same(head.get_weights()[:2], trained.get_weights()[:2])
    alone.set_weights(trained.get_weights())
    assert np.array_equal(alone.predict(x, verbose=0), trained.predict(x, verbose=0))
    trained.layers[0].set_weights([np.zeros_like(w) for w in before[:2]])
    assert not head.get_weights()[0].any() and not features(trained).predict(x, verbose=0).any()


def test_a_file_has_the_newest_weights_of_shared_layers(trained, samples, tmp_path):
    part = features(trained)
    part.predict(samples[0], verbose=0)
    trained.fit(*samples, verbose=0)
    part.save(tmp_path / "part.keras")
    assert same(keras.models.load_model(tmp_path / "part.keras").get_weights(), trained.get_weights()[:2])
    part.load_weights(tmp_path / "part.keras")
    part.set_weights([w * 2 for w in part.get_weights()])
    part.save_weights(tmp_path / "twice.weights.h5")
    trained.set_weights([w * 0 for w in trained.get_weights()])
    part.load_weights(tmp_path / "twice.weights.h5")
    assert trained.get_weights()[0].any() and same(trained.get_weights()[:2], part.get_weights())


def test_a_callback_reads_shared_layers_in_the_middle_of_training(trained, samples):
    part, seen = features(trained), []

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(part.predict(samples[0][:1], verbose=0).sum())
            assert same(part.get_weights(), self.model.get_weights()[:2])

    before = trained.get_weights()
    trained.fit(*samples, batch_size=20, verbose=0, callbacks=[Look()])
    assert len(set(seen)) == 3 and not np.array_equal(trained.get_weights()[0], before[0])


def test_a_layer_is_trained_by_one_model_at_a_time(trained, samples):
    part = keras.Sequential([keras.Input((8, 8, 1)), *trained.layers[:3], layers.Dense(3)])
    part.compile("sgd", "mse")
    train = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: part.train_on_batch(samples[0], np.ones((60, 3))))
    with pytest.raises(RuntimeError, match="layer conv2d.* in the training of another model"):
        trained.fit(*samples, verbose=0, callbacks=[train])
    part.train_on_batch(samples[0], np.ones((60, 3)))


def test_layers_outlive_their_model(trained, samples):
    before, outputs, kept = trained.get_weights(), trained.predict(samples[0], verbose=0), trained.layers
    del trained
    gc.collect()
    again = keras.Sequential([keras.Input((8, 8, 1)), *kept])
    assert same(again.get_weights(), before) and np.allclose(again.predict(samples[0], verbose=0), outputs)


def test_a_popped_layer_keeps_its_weights_and_the_others_theirs(trained, samples):
    before, outputs = trained.get_weights(), trained.predict(samples[0], verbose=0)
    head = trained.pop()
    assert same(head.get_weights(), before[2:]) and same(trained.get_weights(), before[:2])
    trained.add(layers.Dense(5, name="other"))
    assert same(trained.get_weights()[:2], before[:2]) and trained.output_shape == (None, 5)
    trained.pop()
    trained.add(head)
    assert np.array_equal(trained.predict(samples[0], verbose=0), outputs)


def test_a_layer_in_front_of_other_inputs_is_refused(trained):
    with pytest.raises(ValueError, match=r"inputs of shape \(8, 8, 3\) for layer conv2d"):
        keras.Sequential([keras.Input((8, 8, 3)), *trained.layers])
    wider = keras.Sequential([keras.Input((12, 12, 1)), trained.layers[0]])  # a convolution takes any size
    assert wider.output_shape == (None, 10, 10, 4) and same(wider.get_weights(), trained.get_weights()[:2])


def test_weights_that_were_seen_before_the_model_is_whole_stay(samples):
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(), layers.Dense(4)])
    first = model.get_weights()
    model.add(layers.Dense(3))
    assert same(model.get_weights()[:2], first)
    model.layers[1].set_weights([np.ones((64, 4)), np.ones(4)])
    model.add(layers.Dense(2))
    model.build()
    model.predict(samples[0], verbose=0)
    assert (model.get_weights()[0] == 1).all()


def test_what_describes_or_prepares_a_model_leaves_its_weights(trained, samples):
    before = trained.get_weights()
    for work in (trained.summary, trained.build, lambda: trained.build((None, 8, 8, 1)), trained.to_json,
                 lambda: trained.compile("sgd", "mse"), lambda: trained.compile("adam", "sparse_categorical_crossentropy"),
                 lambda: trained.evaluate(*samples, verbose=0), lambda: keras.models.clone_model(trained),
                 lambda: keras.Sequential.from_config(trained.get_config()), keras.backend.clear_session,
                 lambda: trained.fit(*samples, epochs=1, initial_epoch=1, verbose=0)):
        work()
        assert same(trained.get_weights(), before)
    with pytest.raises(ValueError, match="expected .None, 8, 8, 1., for which it was built"):
        trained.build((None, 9, 9, 1))
    for new in (keras.models.clone_model(trained), keras.Sequential.from_config(trained.get_config()),
                keras.models.model_from_json(trained.to_json())):
        assert not np.array_equal(new.get_weights()[0], before[0])


def test_the_same_optimizer_compiled_again_goes_on(model, samples):
    def losses(again):
        keras.utils.set_random_seed(3)
        m = keras.models.clone_model(model)
        m.set_weights(model.get_weights())
        m.compile("adam", "sparse_categorical_crossentropy")
        m.fit(*samples, shuffle=False, verbose=0)
        if again:
            m.compile(m.optimizer if again == "same" else "adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        history = m.fit(*samples, shuffle=False, verbose=0).history
        assert ("accuracy" in history) == bool(again)
        return history["loss"] + [m.evaluate(*samples, verbose=0, return_dict=True)["loss"]]

    assert losses("same") == losses(None) != losses("new")
    model.compile(model.optimizer, "sparse_categorical_crossentropy")
    model.optimizer.learning_rate = 0.0
    model.compile(model.optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    before = model.get_weights()
    model.fit(*samples, verbose=0)
    assert same(model.get_weights(), before)  # the rate that was set holds


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_where_its_model_is(trained, samples, copied):
    keras.utils.set_random_seed(1)
    other = copied(trained)
    assert same(other.get_weights(), trained.get_weights()) and other.layers[0] is not trained.layers[0]
    assert other.optimizer.get_config() == trained.optimizer.get_config() and other.loss == trained.loss
    for m in (trained, other):  # the optimizer's state goes with it
        m.fit(*samples, shuffle=False, verbose=0)
    assert same(other.get_weights(), trained.get_weights())


def encoder(kind):
    begin = keras.Input((8, 8, 1))
    inner = [layers.Flatten(name="flat"), layers.Dense(5, activation="relu", name="hidden"), layers.Dense(4, name="code")]
    if kind == "chain":
        return keras.Sequential([begin, *inner], name="encoder")
    return keras.Model(begin, inner[2](inner[1](inner[0](begin))), name="encoder")


def outer_of(kind):
    begin = keras.Input((8, 8, 1), name="begin")
    if kind == "outer chain":
        return keras.Sequential([begin, encoder("chain"), layers.Dense(3, activation="softmax", name="head")])
    return keras.Model(begin, layers.Dense(3, activation="softmax", name="head")(encoder(kind)(begin)))


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("kind", ["chain", "branch", "outer chain"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_of_a_model_with_models_within_has_all_weights(samples, kind, copied, fitted):
    model = outer_of(kind)
    model.compile("adam", "sparse_categorical_crossentropy")
    if fitted:
        model.fit(*samples, verbose=0)
    other = copied(model)
    assert same(other.get_weights(), model.get_weights()) and len(other.weights) == 6
    inner = other.get_layer("encoder")
    assert inner is not model.get_layer("encoder") and same(inner.get_weights(), model.get_weights()[:4])
    assert [type(layer) for layer in other.layers] == [type(layer) for layer in model.layers]
    for m in (model, other):
        m.fit(*samples, shuffle=False, verbose=0)
    assert same(other.get_weights(), model.get_weights()) and same(inner.get_weights(), model.get_weights()[:4])
    again = copied(other)
    assert np.array_equal(again.predict(samples[0], verbose=0), model.predict(samples[0], verbose=0))


@pytest.mark.parametrize("kind", ["chain", "branch", "outer chain"])
def test_a_clone_of_a_model_with_models_within_has_weights_of_its_own(samples, kind):
    model = outer_of(kind)
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    assert np.array_equal(other.predict(samples[0], verbose=0), model.predict(samples[0], verbose=0))
    other.compile("sgd", "sparse_categorical_crossentropy")
    other.fit(*samples, verbose=0)
    assert same(other.get_layer("encoder").get_weights(), other.get_weights()[:4])
    assert not np.array_equal(other.get_weights()[0], model.get_weights()[0])


def test_a_layer_that_two_models_of_a_copy_have_stays_one(samples):
    """In a clone it becomes two, as in Keras."""
    dense, begin, other = layers.Dense(6, name="dense"), keras.Input((6,)), keras.Input((6,))
    inner = keras.Model(begin, dense(begin), name="inner")
    model = keras.Model(other, layers.Add()([dense(other), inner(other)]))
    copied = pickle.loads(pickle.dumps(model))
    assert copied.get_layer("dense") is copied.get_layer("inner").layers[-1] and len(copied.weights) == 2
    x = samples[0].reshape(-1, 6)[:9]
    assert np.array_equal(copied.predict(x, verbose=0), model.predict(x, verbose=0))
    clone = keras.models.clone_model(model)
    assert len(clone.weights) == 4 and clone.get_layer("dense") is not clone.get_layer("inner").layers[-1]
    two = copy.deepcopy([inner, inner, dense])
    assert two[0] is two[1] and same(two[0].get_weights(), dense.get_weights())


def test_a_copy_of_a_layer_has_its_weights(trained):
    layer = copy.deepcopy(trained.layers[0])
    assert layer is not trained.layers[0] and same(layer.get_weights(), trained.layers[0].get_weights())
    assert copy.deepcopy(layers.Dense(3, name="new")).name == "new"


def test_layers_are_added_in_time_that_grows_with_their_number():
    def seconds(count):
        begin = time.process_time()
        model = keras.Sequential([keras.Input((4,))])
        for _ in range(count):
            model.add(layers.Dense(4))
        assert len(model.get_weights()) == 2 * count
        return time.process_time() - begin

    seconds(50)
    assert seconds(800) < 20 * seconds(100) + 0.2


def test_a_file_of_more_layers_is_refused_and_changes_nothing(trained, tmp_path):
    """Keras would take the first layers, and drop the others without a word."""
    trained.save_weights(tmp_path / "whole.weights.h5")
    part = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3)])
    before = part.get_weights()
    with pytest.raises(ValueError, match="whole.weights.h5"):
        part.load_weights(tmp_path / "whole.weights.h5")
    assert same(part.get_weights(), before)
