"""Data that comes in batches, weights of samples, training batch by batch."""
import threading

import numpy as np
import pytest

import cornu
from cornu import keras

RNG = np.random.default_rng(7)
X = RNG.random((42, 6), np.float32)
Y = RNG.integers(0, 3, 42)


def network(seed=3, **compile):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"),
                              keras.layers.Dense(3, activation="softmax")])
    model.compile(**{"optimizer": keras.optimizers.Adam(0.01), "loss": "sparse_categorical_crossentropy",
                     "metrics": ["accuracy"], **compile})
    return model


def batches(size=8, x=X, y=Y):
    for i in range(0, len(x), size):
        yield x[i: i + size], y[i: i + size]


class Numbered(keras.utils.PyDataset):
    """Batches by number; what was asked for is kept."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.asked, self.ends, self.threads = [], 0, set()

    def __len__(self):
        return 6

    def __getitem__(self, i):
        self.asked.append(i)
        self.threads.add(threading.current_thread().name)
        return X[8 * i: 8 * i + 8], Y[8 * i: 8 * i + 8]

    def on_epoch_end(self):
        self.ends += 1


class Again:
    """An iterable that begins anew."""

    def __iter__(self):
        return batches()


def endless():
    while True:
        yield from batches()


def trained(*args, epochs=3, **kwargs):
    model = network()
    history = model.fit(*args, epochs=epochs, shuffle=False, verbose=0, **kwargs)
    return history.history, model.get_weights()


def same(a, b):
    return a[0] == b[0] and all(np.array_equal(v, w) for v, w in zip(a[1], b[1]))


@pytest.mark.parametrize("data", [Numbered, Again, endless])
def test_batches_train_as_arrays_do(data):
    steps = {"steps_per_epoch": 6} if data is endless else {}
    assert same(trained(data(), **steps), trained(X, Y, batch_size=8))


def test_a_generator_is_one_pass(capsys):
    history, _ = trained(batches(), epochs=1)
    assert len(history["loss"]) == 1
    history, _ = trained(batches(), epochs=4, steps_per_epoch=4)
    assert len(history["loss"]) == 2  # and it says that there is no more


def test_training_ends_with_its_data_and_says_so(capsys):
    network().fit(batches(), epochs=4, steps_per_epoch=4, verbose=2)
    assert "step 2 of 4 in epoch 2" in capsys.readouterr().out


def test_a_generator_goes_no_further_than_it_must():
    taken = []

    def counted():
        for batch in endless():
            taken.append(1)
            yield batch

    network().fit(counted(), steps_per_epoch=2, epochs=3, verbose=0)
    assert len(taken) == 6
    network().evaluate(counted(), steps=4, verbose=0)
    assert len(taken) == 10


def test_a_data_set_by_number_is_shuffled_by_batches_and_told_of_epochs():
    data = Numbered()
    network().fit(data, epochs=2, verbose=0)
    assert sorted(data.asked[:6]) == sorted(data.asked[6:]) == list(range(6)) and data.ends >= 1
    assert "cornu-batches" in data.threads
    data = Numbered()
    network().fit(data, epochs=1, shuffle=False, workers=3, max_queue_size=2, verbose=0)
    assert sorted(data.asked) == list(range(6)) and all(t.startswith("cornu-fetch") for t in data.threads)


def test_batches_of_other_sizes_are_taken():
    sizes = [(X[:2], Y[:2]), (X[2:20], Y[2:20]), (X[20:], Y[20:])]
    history, _ = trained(iter(sizes), epochs=1)
    assert np.isfinite(history["loss"][0])


def test_validation_by_batches_is_that_of_arrays():
    expected = trained(X, Y, batch_size=8, validation_data=(X[:20], Y[:20]))
    for data in (list(batches(8, X[:20], Y[:20])), ):
        class Held(Numbered):
            def __len__(self):
                return 3

            def __getitem__(self, i):
                return data[i]

        assert same(trained(X, Y, batch_size=8, validation_data=Held()), expected)
    assert same(trained(X, Y, batch_size=8, validation_data=[X[:20], Y[:20]]), expected)


def test_evaluate_and_predict_go_by_batches():
    model = network()
    assert model.evaluate(Numbered(), verbose=0) == model.evaluate(X, Y, batch_size=8, verbose=0)
    assert model.evaluate(batches(), steps=2, verbose=0) == model.evaluate(X, Y, batch_size=8, steps=2, verbose=0)
    expected = model.predict(X, verbose=0)
    assert np.allclose(model.predict(Numbered(), verbose=0), expected, atol=1e-6)
    assert np.allclose(model.predict(batches(), steps=2, verbose=0), expected[:16], atol=1e-6)
    assert np.allclose(model.predict((x for x, _ in batches()), verbose=0), expected, atol=1e-6)


def test_weights_of_samples_count():
    weights = np.linspace(0, 2, 42)
    plain = trained(X, Y, batch_size=8)
    weighted = trained(X, Y, batch_size=8, sample_weight=weights)
    assert not same(plain, weighted)
    assert same(trained(X, Y, batch_size=8, sample_weight=np.ones(42)), plain) or np.allclose(
        trained(X, Y, batch_size=8, sample_weight=np.ones(42))[0]["loss"], plain[0]["loss"], rtol=1e-6)
    by_batch = ((x, y, weights[8 * i: 8 * i + 8]) for _ in range(3) for i, (x, y) in enumerate(batches()))
    assert same(trained(by_batch, steps_per_epoch=6), weighted)
    model = network()
    loss = model.evaluate(X, Y, sample_weight=weights, verbose=0)[0]
    outputs = model.predict(X, verbose=0)
    assert np.isclose(loss, np.mean(-np.log(outputs[np.arange(42), Y]) * weights), rtol=1e-5)
    assert model.fit(X, Y, validation_data=(X, Y, weights), verbose=0).history["val_loss"]


def test_weights_of_classes_are_those_of_their_samples():
    weights = np.where(Y == 1, 3.0, np.where(Y == 2, 0.5, 1.0))
    expected = trained(X, Y, batch_size=8, sample_weight=weights)
    assert same(trained(X, Y, batch_size=8, class_weight={1: 3, 2: 0.5}), expected)
    assert same(trained(Numbered(), class_weight={1: 3, 2: 0.5}), expected)


def test_epochs_begin_where_they_are_told():
    history = network().fit(X, Y, initial_epoch=3, epochs=5, verbose=0)
    assert history.epoch == [3, 4]


def test_validation_goes_every_so_many_epochs():
    history = network().fit(X, Y, epochs=5, validation_data=(X, Y), validation_freq=2, verbose=0).history
    assert len(history["loss"]) == 5 and len(history["val_loss"]) == 2
    history = network().fit(X, Y, epochs=5, validation_split=0.2, validation_freq=[1, 2, 5], verbose=0).history
    assert len(history["val_loss"]) == 3


def test_a_loop_over_batches_trains_as_fit_does():
    model, fitted = network(), network()
    fitted.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    scores = [model.train_on_batch(x, y) for x, y in batches()]  # each of its batch alone, as Keras has it
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), fitted.get_weights()))
    assert np.allclose(np.average(scores, 0, [len(x) for x, _ in batches()]),
                       [fitted.history.history[k][0] for k in ("loss", "accuracy")])
    results = model.test_on_batch(X, Y, return_dict=True)
    assert results["loss"] == pytest.approx(fitted.evaluate(X, Y, verbose=0)[0], rel=1e-6)
    assert np.allclose(model.predict_on_batch(X), fitted.predict(X, verbose=0), atol=1e-6)
    assert np.allclose(model(X), model.predict_on_batch(X))
    model.fit(X, Y, verbose=0)  # goes on from there
    assert not np.array_equal(model.get_weights()[0], fitted.get_weights()[0])


def test_a_loop_may_read_and_write_weights_between_batches():
    model = network()
    before = model.get_weights()
    model.train_on_batch(X, Y)
    after = model.get_weights()
    assert not np.array_equal(before[0], after[0])
    model.set_weights(before)
    assert np.array_equal(model.get_weights()[0], before[0])
    assert model.train_on_batch(X, Y, class_weight={0: 2.0}) != 0


def test_a_learning_rate_holds_from_when_it_is_given():
    model = network(optimizer=keras.optimizers.SGD(0.1))
    weights = model.get_weights()
    model.optimizer.learning_rate = 0.0
    model.fit(X, Y, verbose=0)
    model.train_on_batch(X, Y)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), weights))

    class Slow(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.optimizer.learning_rate = 0.5 if epoch == 0 else 0.0
            self.weights = self.model.get_weights()

    slow = Slow()
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[slow])
    assert not np.array_equal(slow.weights[0], weights[0])  # of the second epoch's begin
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), slow.weights))


def test_a_callback_may_use_the_model_as_it_is(tmp_path):
    seen = []

    class Uses(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            loss = self.model.evaluate(X, Y, verbose=0)[0]
            self.model.save_weights(tmp_path / "w.safetensors")
            copy = network(seed=9)
            copy.load_weights(tmp_path / "w.safetensors")
            outputs = self.model.predict(X, verbose=0)
            seen.append((loss, copy.evaluate(X, Y, verbose=0)[0], np.allclose(outputs, copy.predict(X, verbose=0))))

    plain = trained(X, Y, batch_size=8)
    assert same(trained(X, Y, batch_size=8, callbacks=[Uses()]), plain)  # and changes nothing
    assert len(seen) == 3 and all(a == b and equal for a, b, equal in seen)


def test_all_hooks_are_called_in_keras_order():
    calls = []
    hooks = ("train_begin", "epoch_begin", "train_batch_end", "test_begin", "test_batch_end", "test_end", "epoch_end",
             "train_end")
    notes = keras.callbacks.Callback()
    for hook in hooks:
        setattr(notes, f"on_{hook}", lambda *_, hook=hook, logs=None: calls.append(hook))
    network().fit(X, Y, batch_size=21, validation_data=(X, Y), validation_batch_size=42, verbose=0, callbacks=[notes])
    assert calls == ["train_begin", "epoch_begin", "train_batch_end", "train_batch_end", *hooks[3:]]


def test_evaluate_and_predict_call_their_hooks():
    calls = []

    class Notes(keras.callbacks.Callback):
        def on_test_begin(self, logs=None): calls.append("begin")
        def on_test_batch_end(self, batch, logs=None): calls.append(batch)
        def on_test_end(self, logs=None): calls.append("end")
        def on_predict_batch_end(self, batch, logs=None): calls.append(logs["outputs"].shape)

    model = network()
    model.evaluate(X, Y, batch_size=20, verbose=0, callbacks=[Notes()])
    assert calls == ["begin", 0, 1, 2, "end"]
    calls.clear()
    outputs = model.predict(X, batch_size=20, verbose=0, callbacks=[Notes()])
    assert calls == [(20, 3), (20, 3), (2, 3)] and outputs.shape == (42, 3)


def test_arrays_are_read_where_they_lie():
    import tracemalloc
    x = np.zeros((4000, 6), np.float32)
    y = np.zeros(4000, np.int32)
    model = network()
    tracemalloc.start()
    model.fit(x, y, verbose=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes


def test_two_generators_in_two_threads_do_not_meet():
    found = {}

    def work(name):
        found[name] = trained(Numbered())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert same(found[0], trained(X, Y, batch_size=8))


def test_what_stops_a_run_ends_its_thread():
    class Stops(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyError("stop")

    model = network()
    with pytest.raises(KeyError):
        model.fit(endless(), steps_per_epoch=3, epochs=9, verbose=0, callbacks=[Stops()])
    assert not [t for t in threading.enumerate() if t.name == "cornu-batches"]
    model.fit(X, Y, verbose=0)
