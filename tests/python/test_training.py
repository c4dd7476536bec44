"""fit, evaluate, predict: what they return, print and leave behind."""
import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest

from cornu import _cornu, keras


def test_training_learns_and_history_says_so(model, samples):
    x, y = samples
    history = model.fit(x, y, epochs=100, batch_size=20, verbose=0, validation_data=[x, y])
    assert list(history.history) == ["accuracy", "loss", "val_accuracy", "val_loss"]
    assert history.epoch == list(range(100)) and model.history is history
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
    loss, accuracy = model.evaluate(x, y, verbose=0)
    assert accuracy > 0.9
    assert loss == pytest.approx(history.history["val_loss"][-1], rel=1e-5)
    assert (model.predict(x, verbose=0).argmax(1) == y).mean() == pytest.approx(accuracy)
    assert model.evaluate(x, y, verbose=0, return_dict=True) == {"loss": loss, "accuracy": accuracy}


def test_same_seed_gives_the_same_weights(samples):
    x, y = samples
    weights = []
    for _ in range(2):
        keras.utils.set_random_seed(5)
        m = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.3),
                              keras.layers.Dense(3, "softmax")])
        m.compile("sgd", "sparse_categorical_crossentropy")
        m.fit(x, y, epochs=2, verbose=0)
        weights.append(m.get_weights())
    assert all(np.array_equal(a, b) for a, b in zip(*weights))


def test_bytes_and_floats_of_the_same_numbers_train_alike(samples):
    x, y = samples
    pixels = (x * 100).astype(np.uint8)
    losses = []
    for images in (pixels, pixels.astype(np.float32), pixels.astype(np.float64), pixels.astype(">f4")):
        keras.utils.set_random_seed(2)
        m = keras.Sequential([keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")])
        m.compile("sgd", "sparse_categorical_crossentropy")
        losses.append(m.fit(images, y, epochs=2, verbose=0, shuffle=False).history["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert losses[1] == losses[2] == losses[3]


@pytest.mark.parametrize("arrange", [lambda a: a[::-1][::-1], lambda a: np.asfortranarray(a), lambda a: a.tolist(),
                                     lambda a: a.astype(np.float16).astype(np.float64)])
def test_arrays_of_any_layout_are_taken(model, samples, arrange):
    x, y = samples
    x = x.astype(np.float16).astype(np.float32)
    expected = model.predict(x, verbose=0)
    assert np.array_equal(model.predict(arrange(x), verbose=0), expected)


def test_lines_are_keras_lines(model, samples, capsys):
    x, y = samples
    model.fit(x, y, epochs=2, batch_size=20, validation_split=0.25)
    first, line, *_ = capsys.readouterr().out.splitlines()
    assert first == "Epoch 1/2"
    assert line.startswith("3/3 ━━━━━━━━━━━━━━━━━━━━ ")
    for name in ("/step - accuracy: ", " - loss: ", " - val_accuracy: ", " - val_loss: "):
        assert name in line
    model.fit(x, y, epochs=1, batch_size=20, verbose=2)
    assert capsys.readouterr().out.startswith("3/3 - ")  # a single epoch has no heading
    model.fit(x, y, verbose=0)
    assert capsys.readouterr().out == ""


def test_hooks_are_called_in_keras_order(model, samples):
    x, y = samples
    seen = []

    class Recorder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None): seen.append("train")
        def on_epoch_begin(self, epoch, logs=None): seen.append(f"epoch {epoch}")
        def on_train_batch_begin(self, batch, logs=None): seen.append(f"batch {batch}")
        def on_train_batch_end(self, batch, logs=None): seen.append(f"end {batch} {sorted(logs)}")
        def on_epoch_end(self, epoch, logs=None): seen.append(f"epoch end {epoch}")
        def on_train_end(self, logs=None): seen.append("train end")

    model.fit(x, y, batch_size=30, epochs=2, verbose=0, callbacks=[Recorder()])
    logs = "['accuracy', 'loss']"
    epoch = ["batch 0", f"end 0 {logs}", "batch 1", f"end 1 {logs}"]
    assert seen == ["train", "epoch 0", *epoch, "epoch end 0", "epoch 1", *epoch, "epoch end 1", "train end"]


def test_stop_training_ends_the_run(model, samples):
    x, y = samples

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 1

    assert model.fit(x, y, epochs=9, verbose=0, callbacks=[Stop()]).epoch == [0, 1]


def test_early_stopping_ends_the_run_and_begins_no_epoch_more(model, samples, capsys):
    x, y = samples
    stop = keras.callbacks.EarlyStopping("loss", min_delta=1e6, patience=1)
    assert model.fit(x, y, epochs=9, callbacks=[stop]).epoch == [0, 1]
    assert capsys.readouterr().out.count("Epoch ") == 2  # and nothing of the callback, as verbose is 0


def test_a_schedule_in_python_sets_each_epochs_rate(model, samples):
    x, y = samples
    rates = [0.1, 0.1, 0.05, 0.0125, 0.0125]
    scheduler = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rates[epoch])
    history = model.fit(x, y, epochs=5, verbose=0, callbacks=[scheduler])
    assert history.history["learning_rate"] == pytest.approx(rates)


def test_an_exception_in_a_callback_is_raised_and_the_model_stays_usable(model, samples):
    x, y = samples

    class Broken(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model.fit(x, y, verbose=0, callbacks=[Broken()])
    model.fit(x, y, verbose=0)


def test_ctrl_c_raises_after_the_step_and_the_model_stays_usable(model, samples):
    x, y = samples
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.repeat(x, 100, 0), np.repeat(y, 100), epochs=10**6, verbose=0)
    timer.join()
    assert np.isfinite(model.evaluate(x, y, verbose=0)[0])


def test_two_models_train_in_two_threads(samples):
    x, y = samples

    def train(out):
        m = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3, "softmax", kernel_initializer="zeros")])
        m.compile("sgd", "sparse_categorical_crossentropy")
        out.append(m.fit(x, y, epochs=20, verbose=0, shuffle=False).history["loss"])

    out = []
    threads = [threading.Thread(target=train, args=(out,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out[0] == out[1] and len(out[0]) == 20


def test_a_model_at_work_refuses_other_work(model, samples):
    x, y = samples
    found = []

    class Reenter(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            for work in (lambda: self.model.fit(x, y), lambda: self.model.train_on_batch(x, y),
                         lambda: self.model.compile("sgd", "sparse_categorical_crossentropy")):
                with pytest.raises(RuntimeError, match="in training"):
                    work()
            found.append(epoch)

    model.fit(x, y, verbose=0, callbacks=[Reenter()])
    assert found == [0]


def test_copies_and_files_predict_the_same(model, samples, tmp_path):
    x, y = samples
    model.fit(x, y, verbose=0)
    expected = model.predict(x, verbose=0)
    model.class_names = ["ant", "bee", "cat"]
    path = tmp_path / "a model.safetensors"
    model.save(path)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), keras.models.load_model(path)):
        assert other.class_names == ["ant", "bee", "cat"]
        assert np.array_equal(other.predict(x, verbose=0), expected)
        other.fit(x, y, verbose=0)
    assert np.array_equal(model.predict(x, verbose=0), expected)
    fresh = keras.models.clone_model(model)
    assert not np.array_equal(fresh.predict(x, verbose=0), expected)
    fresh.load_weights(path)
    assert np.array_equal(fresh.predict(x, verbose=0), expected)
    assert keras.models.model_from_json(model.to_json()).count_params() == model.count_params()


def test_adding_and_removing_layers_keeps_the_others_weights(model):
    kernel = model.layers[0].kernel.numpy()
    model.pop()
    model.add(keras.layers.Dense(5, name="head"))
    assert model.output_shape == (None, 5)
    assert np.array_equal(model.layers[0].kernel.numpy(), kernel)


@pytest.mark.parametrize("metrics, names", [
    (["acc"], ["acc"]), (["accuracy"], ["accuracy"]), ("accuracy", ["accuracy"]),
    (["acc", "accuracy"], ["acc", "accuracy"]),
    (["sparse_categorical_accuracy"], ["sparse_categorical_accuracy"]),
    ([keras.metrics.SparseCategoricalAccuracy], ["sparse_categorical_accuracy"]),
    ([keras.metrics.SparseCategoricalAccuracy(name="hits"), "acc"], ["acc", "hits"]),
])
def test_metrics_are_called_as_they_were_said(model, samples, metrics, names):
    model.compile("adam", "sparse_categorical_crossentropy", metrics=metrics)
    history = model.fit(*samples, verbose=0, validation_data=samples).history
    assert list(history) == [*sorted([*names, "loss"]), *(f"val_{n}" for n in sorted([*names, "loss"]))]
    model.fit(*samples, verbose=0, callbacks=[keras.callbacks.EarlyStopping(names[0])])


def test_shards_divide_each_batch(model, samples):
    x, y = samples
    start = model.get_weights()
    model.compile("sgd", "sparse_categorical_crossentropy")
    whole = model.fit(x, y, batch_size=20, shuffle=False, verbose=0).history["loss"]
    model.set_weights(start)
    divided = model.fit(x, y, batch_size=20, shuffle=False, verbose=0, shards=4).history["loss"]
    assert np.allclose(whole, divided, rtol=1e-5)
    with pytest.raises(ValueError, match="shards: found 3; expected a power of two, 1 to 1024"):
        model.fit(x, y, verbose=0, shards=3)


def test_recomputation_gives_the_same_bits(samples):
    x, y = samples
    weights = []
    for recompute in (False, True):
        keras.utils.set_random_seed(3)
        layers = [keras.Input(x.shape[1:]), keras.layers.Flatten()]
        for _ in range(3):
            layers += [keras.layers.Dense(128, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(8)]
        deep = keras.Sequential([*layers, keras.layers.Dense(3, activation="softmax")])
        deep.compile("adam", "sparse_categorical_crossentropy")
        deep.fit(x, y, batch_size=20, epochs=2, verbose=0, recompute=recompute)
        weights.append(deep.get_weights())
        text = deep._handle.explain(batch=20, recompute=recompute)
        assert ("dense_forward again" in text) == recompute
    assert all(np.array_equal(a, b) for a, b in zip(*weights))


def test_the_librarys_own_options_are_keywords_of_fit(model, samples):
    own = {name: (kind, is_key) for name, kind, is_key in _cornu.fit_options()}
    assert own["shards"] == ("INT", True) and own["gradient_dtype"] == ("TEXT", True) and own["shard_optimizer"] == ("FLAG", False)
    x, y = samples
    for wrong, said in (({"shards": 0}, "shards: found 0"), ({"shards": 2.5}, "shards: found 2.5"),
                        ({"gradient_dtype": "int8"}, "gradient_dtype: found int8; expected fp32 or bf16")):
        with pytest.raises(ValueError, match=said):
            model.fit(x, y, verbose=0, **wrong)
    for name in ("wire", "threads"):  # where to run is keras.config's
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            model.fit(x, y, verbose=0, **{name: 2})
    data = _cornu.data_from_arrays(x, y.astype(np.int32), None)
    assert model._handle.fit(data, None, epochs=3, batch=20, threads=1, device=None)["loss"][2] > 0
    for wrong, error, said in (({"epoch": 1}, TypeError, "unexpected keyword argument 'epoch'"), ({"epochs": "1"}, TypeError, "int"),
                               ({"threads": 2**40}, OverflowError, "threads: found 1099511627776"),
                               ({"device": "c\0pu"}, ValueError, "device: found a zero within")):
        with pytest.raises(error, match=said):
            model._handle.fit(data, None, **wrong)
