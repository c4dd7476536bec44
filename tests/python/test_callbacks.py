"""Callbacks: what they take, what they do, what they say."""
import warnings

import numpy as np
import pytest

from cornu import keras
from cornu.keras import callbacks


class Wide(keras.callbacks.Callback):
    """A hook on batches makes each step a call."""

    def on_batch_end(self, batch, logs=None):
        self.batch = batch


def test_only_hooks_of_batches_ask_for_batches():
    assert Wide()._wants_batches() and callbacks.TerminateOnNaN()._wants_batches()
    assert callbacks.LambdaCallback(on_train_batch_end=print)._wants_batches()
    assert callbacks.CallbackList([callbacks.History(), Wide()])._wants_batches()
    for quiet in (callbacks.Callback(), callbacks.History(), callbacks.LambdaCallback(on_epoch_end=print),
                  callbacks.EarlyStopping(), callbacks.CallbackList([callbacks.History()])):
        assert not quiet._wants_batches()


def test_lambda_callbacks_take_every_hook_and_nothing_else(model, samples):
    seen = []
    model.fit(*samples, epochs=2, verbose=0, callbacks=[callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(epoch), on_train_end=lambda logs: seen.append("end"))])
    assert seen == [0, 1, "end"]
    with pytest.raises(TypeError, match="on_epoch_ends"):
        callbacks.LambdaCallback(on_epoch_ends=print)


def test_a_loss_that_is_no_number_ends_the_run(model, samples, capsys):
    x, y = samples
    model.set_weights([np.full_like(w, np.inf) for w in model.get_weights()])
    model.fit(x, y, batch_size=20, epochs=5, verbose=0, callbacks=[callbacks.TerminateOnNaN()])
    assert capsys.readouterr().out == "Batch 0: Invalid loss, terminating training\n"
    with pytest.raises(RuntimeError, match="batch 0: found loss"):
        model.fit(x, y, verbose=0, callbacks=[callbacks.TerminateOnNaN(raise_error=True)])


@pytest.mark.parametrize("stop_at, steps", [(0, 1), (1, 2), (2, 3)])
def test_a_run_that_a_step_ends_has_that_epoch(model, samples, stop_at, steps):
    seen = []

    class Stop(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            seen.append(batch)

        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == stop_at
            self.loss = logs["loss"]

        def on_epoch_end(self, epoch, logs=None):
            seen.append("epoch")

    stop = Stop()
    history = model.fit(*samples, batch_size=20, epochs=4, verbose=0, callbacks=[stop])
    assert seen == [*range(steps), "epoch"] and history.epoch == [0]
    assert history.history["loss"] == [stop.loss] and "accuracy" in history.history


def test_options_of_the_librarys_callbacks_are_attributes_and_its_section():
    stop = callbacks.EarlyStopping("val_accuracy", 0.1, 3, 1, "max", 0.5, True, 2)
    assert stop.patience == 3 and stop.verbose == 1 and stop.baseline == 0.5
    assert stop._section() == {"early_stopping": {
        "monitor": "val_accuracy", "min_delta": 0.1, "patience": 3, "mode": "max", "baseline": 0.5,
        "restore_best_weights": True, "start_from_epoch": 2}}
    assert repr(stop).startswith("EarlyStopping(monitor='val_accuracy', min_delta=0.1, patience=3,")
    with pytest.raises(AttributeError, match="patient"):
        stop.patient


@pytest.mark.parametrize("kind", ["EarlyStopping", "ReduceLROnPlateau", "ModelCheckpoint"])
def test_a_mode_that_there_is_not_warns_and_is_auto(kind):
    path = ["a.safetensors"] if kind == "ModelCheckpoint" else []
    with pytest.warns(UserWarning, match=f"{kind}: mode: found 'biggest'"):
        assert getattr(callbacks, kind)(*path, mode="biggest").mode == "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(callbacks, kind)(*path, mode="max")


@pytest.mark.parametrize("path", ["a.npz", "cp.ckpt", "a.weights.h5"])
def test_checkpoints_in_other_formats_are_refused_when_made(path):
    with pytest.raises(ValueError, match="expected .keras, .safetensors"):
        callbacks.ModelCheckpoint(path)


@pytest.mark.parametrize("error, text, make", [
    (ValueError, "save_freq", lambda: callbacks.ModelCheckpoint("a.safetensors", save_freq="batch")),
    (ValueError, "save_freq", lambda: callbacks.ModelCheckpoint("a.safetensors", save_freq=0)),
    (ValueError, "period: found 0; expected", lambda: callbacks.ModelCheckpoint("a.safetensors", period=0)),
    (ValueError, "period: found True; expected", lambda: callbacks.ModelCheckpoint("a.safetensors", period=True)),
    (ValueError, "period=2 and save_freq=100; expected one", lambda: callbacks.ModelCheckpoint("a.h5", save_freq=100, period=2)),
    (TypeError, "perod", lambda: callbacks.ModelCheckpoint("a.safetensors", perod=2)),
    (ValueError, "factor", lambda: callbacks.ReduceLROnPlateau(factor=1.0)),
    (TypeError, "schedule", lambda: callbacks.LearningRateScheduler(0.1)),
    (ValueError, "Empty `backup_dir`", lambda: callbacks.BackupAndRestore("")),
    (ValueError, "save_freq: found 0", lambda: callbacks.BackupAndRestore("b", save_freq=0)),
    (NotImplementedError, "outside of fit", lambda: callbacks.CallbackList([callbacks.EarlyStopping()])),
    (TypeError, "Callback", lambda: callbacks.CallbackList([print])),
])
def test_what_cannot_be_made_says_why(error, text, make):
    with pytest.raises(error, match=text):
        make()


def test_the_best_model_is_kept_from_a_value_on(model, samples, tmp_path, capsys):
    x, y = samples
    never = callbacks.ModelCheckpoint(tmp_path / "never.safetensors", "loss", 1, True, initial_value_threshold=1e-9)
    best = callbacks.ModelCheckpoint(tmp_path / "e{epoch:02d}.safetensors", "loss", save_best_only=True,
                                     initial_value_threshold=1e9)
    model.fit(x, y, epochs=2, verbose=0, callbacks=[never, best])
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["e01.safetensors", "e02.safetensors"]
    assert "loss did not improve from 0.00000" in capsys.readouterr().out
    weights = callbacks.ModelCheckpoint(tmp_path / "b{batch}.safetensors", save_weights_only=True, save_freq=2)
    model.fit(x, y, batch_size=15, verbose=0, callbacks=[weights])
    model.load_weights(tmp_path / "b4.safetensors")


def test_a_schedule_is_asked_when_each_epoch_begins(model, samples, capsys):
    asked = []

    def halve(epoch, rate):
        asked.append((epoch, rate))
        return rate / 2

    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
    history = model.fit(*samples, epochs=40, verbose=0, callbacks=[callbacks.LearningRateScheduler(halve, verbose=1)])
    assert asked == [(epoch, 0.5 ** (epoch + 1)) for epoch in range(40)]
    assert history.history["learning_rate"] == [0.5 ** (epoch + 2) for epoch in range(40)]
    assert capsys.readouterr().out.startswith("\nEpoch 1: LearningRateScheduler setting learning rate to 0.25.\n\nEpoch 2: ")
    assert model.optimizer.learning_rate == model.optimizer.get_config()["learning_rate"] == 0.5**41


def test_a_schedule_of_the_epoch_alone_sets_the_rate(model, samples):
    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
    model.fit(*samples, verbose=0)
    before = model.get_weights()
    still = callbacks.LearningRateScheduler(lambda epoch: 0.0)
    assert model.fit(*samples, epochs=2, verbose=0, callbacks=[still]).history["learning_rate"] == [0, 0]
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights()))


@pytest.mark.parametrize("wrong", [lambda e: "fast", lambda e: -1.0, lambda e: float("nan"), lambda e: None])
def test_rates_of_a_schedule_are_checked(model, samples, wrong):
    with pytest.raises(ValueError, match="LearningRateScheduler: found"):
        model.fit(*samples, verbose=0, callbacks=[callbacks.LearningRateScheduler(wrong)])
    model.fit(*samples, verbose=0)


def test_a_schedule_meets_no_schedule_of_the_optimizers(model, samples):
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    model.compile(keras.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="schedule of its own"):
        model.fit(*samples, verbose=0, callbacks=[callbacks.LearningRateScheduler(lambda e, r: r)])


def test_a_loop_of_ones_own_calls_callbacks_through_a_list(model, capsys):
    seen = []
    hooks = callbacks.LambdaCallback(on_train_begin=lambda logs=None: seen.append("begin"),
                                     on_epoch_end=lambda epoch, logs: seen.append(logs["loss"]))
    both = callbacks.CallbackList([hooks], add_history=True, add_progbar=True, model=model,
                                  epochs=2, steps=2, verbose=2)
    both.on_train_begin()
    for epoch in range(2):
        both.on_epoch_begin(epoch)
        for batch in range(2):
            both.on_train_batch_begin(batch)
            both.on_train_batch_end(batch, {"loss": 0.5})
        both.on_epoch_end(epoch, {"loss": 0.25})
    both.on_train_end()
    assert seen == ["begin", 0.25, 0.25]
    assert hooks.model is model and hooks.params["steps"] == 2
    assert model.history.history == {"loss": [0.25, 0.25]} and model.history.epoch == [0, 1]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch 1/2" and lines[1].startswith("2/2 - 0s - ") and lines[1].endswith(" - loss: 0.2500")


def test_fit_prints_once_with_a_progress_callback(model, samples, capsys):
    model.fit(*samples, epochs=2, verbose=2, callbacks=[callbacks.ProgbarLogger()])
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_table_of_epochs(model, samples, tmp_path):
    path = tmp_path / "table.csv"

    def rows():
        return [line.split(";") for line in path.read_text().splitlines()]

    history = model.fit(*samples, epochs=2, verbose=0, callbacks=[callbacks.CSVLogger(path, ";")]).history
    assert rows()[0] == ["epoch", "accuracy", "loss", "val_accuracy", "val_loss"]
    assert rows()[2] == ["1", str(history["accuracy"][1]), str(history["loss"][1]), "NA", "NA"]
    for _ in range(2):
        logger = callbacks.CSVLogger(path, ";", append=True)
        model.fit(*samples, epochs=1, verbose=0, validation_data=samples, callbacks=[logger])
    assert [row[0] for row in rows()] == ["epoch", "0", "1", "0", "0"] and "NA" not in rows()[3]
    model.fit(*samples, epochs=1, verbose=0, callbacks=[callbacks.CSVLogger(path)])
    assert len(path.read_text().splitlines()) == 2


def test_a_table_holds_no_formula(tmp_path):
    logger = callbacks.CSVLogger(tmp_path / "t.csv")
    logger.on_train_begin()
    logger.on_epoch_end(0, {"=a()": -1.5, "note": "@SUM(1)", "number": "-2"})
    logger.on_train_end()
    rows = (tmp_path / "t.csv").read_text().splitlines()
    assert rows[0].startswith("epoch,'=a(),note,number") and rows[1].startswith("0,-1.5,'@SUM(1),-2")


@pytest.mark.parametrize(("given", "told", "is_there"), [
    ((2, 3), [2, 3], True), ("2,3", [2, 3], True), ("1", 1, True), (0, 0, False)])
def test_batches_to_profile_are_given_as_keras_takes_them(model, samples, tmp_path, given, told, is_there):
    board = callbacks.TensorBoard(tmp_path, profile_batch=given)
    assert board.profile_batch == told
    model.fit(*samples, batch_size=20, epochs=1, verbose=0, callbacks=[board])
    events = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert (b"graph_run_metadata" in events) == is_there


def test_the_best_holds_in_the_next_fit(model, samples, tmp_path):
    """As long as the object lives, as Keras has it: a worse epoch of a second fit replaces no better model."""
    best = callbacks.ModelCheckpoint(tmp_path / "best.safetensors", "loss", save_best_only=True)
    assert best.best is None
    model.fit(*samples, epochs=3, verbose=0, callbacks=[best])
    first, kept = best.best, (tmp_path / "best.safetensors").read_bytes()
    assert first == pytest.approx(min(model.history.history["loss"]))
    model.set_weights([w * -50 for w in model.get_weights()])
    model.fit(*samples, verbose=0, callbacks=[callbacks.EarlyStopping("loss"), best])
    assert model.history.history["loss"][0] > first
    assert best.best == first and (tmp_path / "best.safetensors").read_bytes() == kept
    anew = callbacks.ModelCheckpoint(tmp_path / "best.safetensors", "loss", save_best_only=True)
    model.fit(*samples, verbose=0, callbacks=[anew])
    assert anew.best > first and (tmp_path / "best.safetensors").read_bytes() != kept


def test_the_best_holds_behind_a_run_that_an_exception_ended(model, samples, tmp_path):
    best = callbacks.ModelCheckpoint(tmp_path / "best.safetensors", "loss", save_best_only=True)

    def fail(epoch, logs):
        raise RuntimeError("enough")

    ends = callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch and fail(epoch, logs))
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(*samples, epochs=3, verbose=0, callbacks=[best, ends])
    first = best.best
    model.set_weights([w * -50 for w in model.get_weights()])
    model.fit(*samples, verbose=0, callbacks=[best])
    assert first is not None and best.best == first


def test_batches_until_the_next_file_are_counted_over_fits(model, samples, tmp_path):
    each = callbacks.ModelCheckpoint(tmp_path / "b{epoch}-{batch}.safetensors", save_freq=4)
    for epoch in range(2):
        model.fit(*samples, batch_size=20, epochs=epoch + 1, initial_epoch=epoch, verbose=0, callbacks=[each])
    assert [p.name for p in tmp_path.iterdir()] == ["b2-1.safetensors"]


def test_a_period_of_epochs_is_counted_over_fits(model, samples, tmp_path):
    with pytest.warns(DeprecationWarning, match="period is of Keras 2; it saves each 3 epochs"):
        each = callbacks.ModelCheckpoint(tmp_path / "e{epoch}.h5", period=3)
    assert each.period == 3
    for epochs in (4, 3):
        model.fit(*samples, batch_size=20, epochs=epochs, verbose=0, callbacks=[each])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e2.h5", "e3.h5"]


def test_other_callbacks_begin_anew_in_each_fit(model, samples):
    stop = callbacks.EarlyStopping("loss", patience=1, min_delta=100)
    plateau = callbacks.ReduceLROnPlateau("loss", patience=2, min_delta=100, factor=0.5, cooldown=3)
    for _ in range(2):
        model.optimizer.learning_rate = 0.001
        model.fit(*samples, epochs=5, verbose=0, callbacks=[stop])
        assert (stop.stopped_epoch, stop.wait, stop.best_epoch) == (1, 1, 0) and stop.best > 0
        model.fit(*samples, epochs=3, verbose=0, callbacks=[plateau])
        assert model.history.history["learning_rate"] == pytest.approx([0.001, 0.001, 0.001])
        assert model.optimizer.learning_rate == pytest.approx(0.0005) and plateau.cooldown_counter == 3
    model.fit(*samples, verbose=0, callbacks=[stop])
    assert stop.stopped_epoch == stop.wait == 0


def test_less_of_an_error_is_better(model, samples):
    x, y = samples
    model.compile("sgd", "mse", metrics=["mae"])
    stop = callbacks.EarlyStopping("mae", patience=1)
    model.fit(x, np.eye(3)[y], epochs=4, verbose=0, callbacks=[stop])
    assert stop.stopped_epoch == 0 and stop.best == pytest.approx(min(model.history.history["mae"]))


@pytest.mark.parametrize("training_batches", [False, True])
def test_hooks_of_an_evaluation_come_once_a_batch(model, samples, training_batches):
    seen = []
    hooks = {f"on_test_{what}": lambda *a, what=what: seen.append((what, *a)) for what in (
        "begin", "end", "batch_begin", "batch_end")}
    if training_batches:
        hooks["on_train_batch_end"] = lambda batch, logs: None
    one = ["begin", "batch_begin", "batch_end", "batch_begin", "batch_end", "batch_begin", "batch_end", "end"]
    model.fit(*samples, batch_size=20, epochs=2, validation_data=samples, verbose=0,
              callbacks=[callbacks.LambdaCallback(**hooks)])
    assert [what for what, *_ in seen] == 2 * one
    assert [rest[0] for what, *rest in seen if what == "batch_end"] == [0, 1, 2, 0, 1, 2]
    assert all(set(rest[1]) == {"loss", "accuracy"} for what, *rest in seen if what == "batch_end")
    seen.clear()
    model.evaluate(*samples, batch_size=20, verbose=0, callbacks=[callbacks.LambdaCallback(**hooks)])
    assert [what for what, *_ in seen] == one


class Fails(callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations == 5:
            raise RuntimeError("now")


@pytest.mark.parametrize("frequency, epoch", [("epoch", 1), (2, 1), (5, 1)])
def test_a_fit_goes_on_from_its_backup(tmp_path, frequency, epoch):
    rng = np.random.default_rng(4)
    x, y = rng.random((12, 3), np.float32), rng.random((12, 1), np.float32)

    def made():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        return model

    def fit(model, *more):
        backup = callbacks.BackupAndRestore(tmp_path / "b", frequency, double_checkpoint=True)
        return model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0, callbacks=[backup, *more])

    model = made()
    with pytest.raises(RuntimeError, match="now"):
        fit(model, Fails())
    again = made()
    history = fit(again)
    assert history.epoch == list(range(epoch, 3)) and list((tmp_path / "b").iterdir()) == []
    if frequency == "epoch":
        whole = made()
        losses = whole.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"]
        assert history.history["loss"] == losses[1:] and again.optimizer.iterations == 9
        assert all(np.array_equal(a, b) for a, b in zip(whole.get_weights(), again.get_weights()))


def test_a_server_that_is_not_there_is_a_warning(model, samples):
    with pytest.warns(UserWarning, match="Could not reach RemoteMonitor root server at http://127.0.0.1:9"):
        model.fit(*samples, verbose=0, callbacks=[callbacks.RemoteMonitor("http://127.0.0.1:9")])
