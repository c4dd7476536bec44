"""keras.callbacks: callbacks in Python, and those that the library runs itself."""
import json
import math
import os
import sys
import warnings
from typing import Any, Callable

from .._missing import missing
from . import _keras_names
from ._arguments import not_here
from ._progress import Progress, verbosity
from ._tf2 import ANY, takes


class Callback:
    """Base of all callbacks: Keras's hooks, which do nothing. `self.model.stop_training = True` ends the run.

    Each hook of a batch costs a Python call; if no callback defines one, no call is made."""

    def __init__(self):
        self.model: Any = None
        self.params: dict = {}
        self.validation_data = None

    def set_model(self, model):
        """Set the model of the run."""
        self.model = model

    def set_params(self, params):
        """Set epochs, steps and verbose of the run."""
        self.params = params

    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    def on_train_end(self, logs=None):
        """After the last epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch's first step."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch and its validation; logs: the results of both."""

    def on_train_batch_begin(self, batch, logs=None):
        """Before each step."""

    def on_train_batch_end(self, batch, logs=None):
        """After each step; logs: the epoch's means so far."""

    def on_batch_begin(self, batch, logs=None):
        """The same as on_train_batch_begin."""

    def on_batch_end(self, batch, logs=None):
        """The same as on_train_batch_end."""

    def on_test_begin(self, logs=None):
        """Before an evaluation."""

    def on_test_end(self, logs=None):
        """After an evaluation."""

    def on_test_batch_begin(self, batch, logs=None):
        """Before each of its batches."""

    def on_test_batch_end(self, batch, logs=None):
        """After each of its batches."""

    def on_predict_begin(self, logs=None):
        """Before a prediction."""

    def on_predict_end(self, logs=None):
        """After a prediction."""

    def on_predict_batch_begin(self, batch, logs=None):
        """Before each of its batches."""

    def on_predict_batch_end(self, batch, logs=None):
        """After each of its batches."""


    def _wants_batches(self) -> bool:
        return any(getattr(getattr(self, name), "__func__", None) is not getattr(Callback, name) for name in
                   ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"))


_HOOKS = frozenset(name for name in vars(Callback) if name.startswith("on_"))


class LambdaCallback(Callback):
    """A callback from functions, one for each named hook."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None,
                 on_train_batch_begin=None, on_train_batch_end=None, **kwargs):
        super().__init__()
        for name in kwargs.keys() - _HOOKS:
            raise TypeError(f"LambdaCallback: got an unexpected keyword argument {name!r}; "
                            f"it takes {', '.join(sorted(_HOOKS))}")
        given = dict(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end, on_train_begin=on_train_begin,
                     on_train_end=on_train_end, on_train_batch_begin=on_train_batch_begin,
                     on_train_batch_end=on_train_batch_end, **kwargs)
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)


class History(Callback):
    """The result of fit: `history`, a list with one entry per epoch for each value, and `epoch`, the epochs' numbers."""

    def __init__(self):
        super().__init__()
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class TerminateOnNaN(Callback):
    """End the run at the first step whose loss is NaN or infinite; with raise_error, by a RuntimeError."""

    def __init__(self, raise_error: bool = False):
        super().__init__()
        self.raise_error = raise_error

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        if self.raise_error:
            raise RuntimeError(f"batch {batch}: found loss {loss}; expected a finite number")
        sys.stdout.write(f"Batch {batch}: Invalid loss, terminating training\n")
        self.model.stop_training = True


def _cell(value):
    """Text that a spreadsheet would take for a formula, as a text."""
    if not isinstance(value, str) or value[:1] not in tuple("=+-@\t\r"):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


class CSVLogger(Callback):
    """Write a table with one row per epoch: the logged values, and "NA" in the val_ columns if the run has no validation."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.separator, self.append = os.fspath(filename), separator, append
        self._file = self._writer = None

    def on_train_begin(self, logs=None):
        self._close()
        self._old = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="")

    def _begin_table(self, names: list[str]) -> None:
        import csv

        if not any(name.startswith("val_") for name in names):
            names = names + [f"val_{name}" for name in names]
        self._writer = csv.DictWriter(self._file, ["epoch", *names], restval="NA", extrasaction="ignore",
                                      delimiter=self.separator)
        if not self._old:
            self._writer.writerow({name: _cell(name) for name in self._writer.fieldnames})

    def on_epoch_end(self, epoch, logs=None):
        if self._writer is None:
            self._begin_table(sorted(logs or {}))
        self._writer.writerow({"epoch": epoch, **{name: _cell(value) for name, value in (logs or {}).items()}})
        self._file.flush()

    def on_train_end(self, logs=None):
        self._close()

    def _close(self) -> None:
        if self._file:
            self._file.close()
        self._file = self._writer = None


class LearningRateScheduler(Callback):
    """`schedule(epoch, learning_rate)` returns the learning rate of each epoch, and is called at its begin."""

    def __init__(self, schedule: Callable, verbose=0):
        if not callable(schedule):
            raise TypeError(f"LearningRateScheduler: schedule: found {schedule!r}; "
                            f"expected a function of an epoch and a rate")
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def _rate(self, epoch: int, rate: float) -> float:
        try:
            found = self.schedule(epoch, rate)
        except TypeError:  # of an epoch alone, as once
            found = self.schedule(epoch)
        if isinstance(found, (bool, str)) or not hasattr(found, "__float__"):
            raise ValueError(f"LearningRateScheduler: found {found!r} for epoch {epoch}; expected a number")
        if not math.isfinite(found) or found < 0:
            raise ValueError(f"LearningRateScheduler: found {found} for epoch {epoch}; expected a number of at least 0")
        return float(found)

    def on_epoch_begin(self, epoch, logs=None):
        before = self.model.optimizer.learning_rate
        if self.model.optimizer._has_schedule():
            raise ValueError("LearningRateScheduler: found an optimizer with a schedule of its own; "
                             "expected one with a number as its learning rate")
        rate = self.model.optimizer.learning_rate = self._rate(epoch, float(before))
        if self.verbose:
            sys.stdout.write(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.\n")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class ProgbarLogger(Callback):
    """Progress lines, for a CallbackList. fit, evaluate and predict print theirs without it."""

    @takes(order=("self", "count_mode", "stateful_metrics"), count_mode=("samples", "steps"), stateful_metrics=ANY)
    def __init__(self):
        super().__init__()
        self._progress: Progress | None = None  # where fit prints

    def _print_by(self, params: dict) -> None:
        self._progress = Progress(verbosity(params.get("verbose", 1)))

    def on_epoch_begin(self, epoch, logs=None):
        if self._progress:
            self._progress.epoch(epoch, self.params.get("epochs", 1))

    def _step(self, batch: int, logs, last: bool) -> None:
        if self._progress:
            self._progress.step(batch + 1, self.params.get("steps") or 0, None, logs or {}, last)

    def on_train_batch_end(self, batch, logs=None):
        self._seen = batch
        self._step(batch, logs, False)

    def on_epoch_end(self, epoch, logs=None):
        self._step((self.params.get("steps") or self._seen + 1) - 1, logs, True)


class CallbackList(Callback):
    """Several callbacks as one, for your own loop over train_on_batch."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        super().__init__()
        self.callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        for callback in self.callbacks:
            if isinstance(callback, _Native):
                raise NotImplementedError(f"CallbackList: {type(callback).__name__} is not in cornu outside of fit, "
                                          f"which runs it in C")
            if not isinstance(callback, Callback):
                raise TypeError(f"CallbackList: found {callback!r}; expected a keras.callbacks.Callback")
        for kind, wanted in ((History, add_history), (ProgbarLogger, add_progbar)):
            if wanted and not any(isinstance(c, kind) for c in self.callbacks):
                self.callbacks.append(kind())
        if model is not None:
            self.set_model(model)
        self.set_params(params)

    def set_model(self, model):
        super().set_model(model)
        for callback in self.callbacks:
            callback.set_model(model)
            if isinstance(callback, History):
                model.history = callback

    def set_params(self, params):
        super().set_params(params)
        for callback in self.callbacks:
            callback.set_params(params)
            if isinstance(callback, ProgbarLogger):
                callback._print_by(params)

    def _wants_batches(self) -> bool:
        return any(c._wants_batches() for c in self.callbacks)


def _to_all(hook: str):
    def call(self, *args, **kwargs):
        for callback in self.callbacks:
            getattr(callback, hook)(*args, **kwargs)

    call.__name__, call.__doc__ = hook, getattr(Callback, hook).__doc__
    return call


for _hook in _HOOKS:
    setattr(CallbackList, _hook, _to_all(_hook))


class _Native(Callback):
    """A callback that the library runs, in C. Its options are its attributes."""

    _name = ""
    _says: tuple = ()  # in the library's lines about it
    _goes_on = False  # what it remembers holds in the next fit, too, as the object lives
    _state: dict | None = None
    _attributes: dict = {}  # Keras's name of what the library remembers: (its name there, the value before)

    def __init__(self, verbose: int, /, **options):
        super().__init__()
        self.verbose = verbose
        self._options = options
        self._begin()

    def _begin(self) -> None:
        """A run begins."""
        if not self._goes_on or self._state is None:
            for name, (_, before) in self._attributes.items():
                setattr(self, name, before)

    def _remember(self, state: dict) -> None:
        """What the library gives at the end of a run."""
        self._state = state
        for name, (key, before) in self._attributes.items():
            value = state["state"][key]
            known = key != "best" or state["state"]["has_best"]
            setattr(self, name, before if not known else float.fromhex(value) if isinstance(value, str) else value)

    def _told(self, epoch: int, line: str) -> str:
        """What Keras prints in place of the library's line, of an epoch from 0."""
        return f"{line}\n"

    def _section(self) -> dict:
        """The entry of a fit section."""
        return {self._name: {k: v for k, v in self._options.items() if v is not None}}

    def __getattr__(self, name: str):
        options = self.__dict__.get("_options", {})
        if name in options:
            return options[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"


def _direction(owner: str, mode: str) -> str:
    if mode in ("auto", "min", "max"):
        return mode
    warnings.warn(f"{owner}: mode: found {mode!r}; expected 'auto', 'min' or 'max'; using 'auto'", stacklevel=3)
    return "auto"


class EarlyStopping(_Native):
    """End the run when the monitored value has not improved for `patience` epochs."""

    _name = "early_stopping"
    _says = ("early stopping",)
    _attributes = {"best": ("best", None), "best_epoch": ("best_epoch", 0), "wait": ("wait", 0)}
    stopped_epoch = 0

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False, start_from_epoch=0):
        super().__init__(verbose, monitor=monitor, min_delta=min_delta, patience=patience,
                         mode=_direction("EarlyStopping", mode), baseline=baseline,
                         restore_best_weights=restore_best_weights, start_from_epoch=start_from_epoch)

    def _begin(self) -> None:
        super()._begin()
        self.stopped_epoch = 0

    def _told(self, epoch: int, line: str) -> str:
        self.stopped_epoch = epoch
        return f"Epoch {epoch + 1}: early stopping\n"


class ReduceLROnPlateau(_Native):
    """Lower the learning rate when the monitored value has not improved for `patience` epochs."""

    _name = "reduce_lr_on_plateau"
    _says = ("reducing the learning rate",)
    _attributes = {"best": ("best", None), "wait": ("wait", 0), "cooldown_counter": ("cooling", 0)}

    @takes(renamed={"epsilon": "min_delta"})
    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4,
                 cooldown=0, min_lr=0.0):
        if not 0 < factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor: found {factor!r}; expected a number between 0 and 1")
        super().__init__(verbose, monitor=monitor, factor=factor, patience=patience,
                         mode=_direction("ReduceLROnPlateau", mode), min_delta=min_delta, cooldown=cooldown,
                         min_lr=min_lr)

    def _told(self, epoch: int, line: str) -> str:
        optimizer = self.model.optimizer  # which shows it after the last epoch, too
        if not optimizer._has_schedule():
            optimizer.learning_rate = self.model._rate = max(float(optimizer.learning_rate) * self.factor,
                                                                        self.min_lr)
        return f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {line.rsplit(' ', 1)[1]}.\n"


class ModelCheckpoint(_Native):
    """Save the model (.keras, .safetensors, .h5; weights alone: .weights.h5, .safetensors) during training.
    The name may have the fields {epoch}, {batch} and those of logged values. The object keeps its best value, also for later
    fits. Keras 2's period is the number of epochs between files; with save_best_only the epochs between do not count."""

    _name = "checkpoint"
    _goes_on = True
    _attributes = {"best": ("best", None)}
    _says = ("improve", "saved")

    @takes(options=(None,), load_weights_on_restart=(False,))
    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False,
                 mode="auto", save_freq="epoch", initial_value_threshold=None, **kwargs):
        path = os.fspath(filepath)
        if save_weights_only and path.endswith((".h5", ".hdf5")) and not path.endswith(".weights.h5"):
            save_weights_only = False  # of tf.keras 2, which finds its weights in a file of the whole model, too
        endings = (".weights.h5", ".safetensors") if save_weights_only else (".keras", ".safetensors", ".h5", ".hdf5")
        if not path.endswith(endings) or (not save_weights_only and path.endswith(".weights.h5")):
            raise ValueError(f"ModelCheckpoint: {path}: found another ending; expected {', '.join(endings)}")
        if save_freq != "epoch" and (isinstance(save_freq, bool) or not isinstance(save_freq, int) or save_freq < 1):
            raise ValueError(f"ModelCheckpoint: save_freq: found {save_freq!r}; "
                             f"expected 'epoch' or a number of batches")
        period = self._period(save_freq, **kwargs)
        super().__init__(verbose, filepath=path, monitor=monitor, verbose=int(bool(verbose)),
                         mode=_direction("ModelCheckpoint", mode), save_best_only=save_best_only,
                         save_weights_only=save_weights_only, save_freq=save_freq, period=period,
                         initial_value_threshold=initial_value_threshold)

    @staticmethod
    def _period(save_freq, period=None):
        if period is None:
            return None
        if isinstance(period, bool) or not isinstance(period, int) or period < 1:
            raise ValueError(f"ModelCheckpoint: period: found {period!r}; expected a number of epochs from 1")
        if save_freq != "epoch":
            raise ValueError(f"ModelCheckpoint: found period={period} and save_freq={save_freq}; expected one of the two")
        warnings.warn(f"ModelCheckpoint: period is of Keras 2; it saves each {period} epochs" if period > 1 else
                      "ModelCheckpoint: period is of Keras 2; 1 is without effect", DeprecationWarning, stacklevel=4)
        return period

    def _begin(self) -> None:
        super()._begin()
        if self._state is None:
            self.best = self._options["initial_value_threshold"]


def _batches(profile_batch):
    """Keras takes "10,20" for (10, 20), and "10" for 10."""
    if isinstance(profile_batch, str):
        profile_batch = [int(number) for number in profile_batch.split(",")]
    if isinstance(profile_batch, (list, tuple)):
        return list(profile_batch) if len(profile_batch) > 1 else profile_batch[0]
    return profile_batch


class TensorBoard(_Native):
    """Event files for TensorBoard in log_dir/train and log_dir/validation: logged values after each epoch (and after every
    update_freq batches), the network, and with histogram_freq histograms of the weights. profile_batch (a batch from 1, or
    a pair: first and last) adds the time of each operation of a step, as the graph page's profile. cornu's own arguments:
    samples (a number of pictures), confusion_matrix (of each validation), hyperparameters (of the run)."""

    _name = "tensorboard"

    @takes(write_grads=(False,), batch_size=ANY, embeddings_layer_names=(None,), embeddings_data=(None,))
    def __init__(self, log_dir="logs", histogram_freq=0, write_graph=True, write_images=False,
                 write_steps_per_second=False, update_freq="epoch", profile_batch=0, embeddings_freq=0,
                 embeddings_metadata=None, *, samples=0, confusion_matrix=False, hyperparameters=False):
        for name, value, instead in (("write_images", write_images, "histogram_freq= shows weights"),
                                     ("embeddings_freq", embeddings_freq, "it has no embeddings"),
                                     ("embeddings_metadata", embeddings_metadata, "it has no embeddings")):
            not_here(f"TensorBoard: {name}", value or None, instead)
        if update_freq not in ("epoch", "batch") and (isinstance(update_freq, bool) or not isinstance(update_freq, int)
                                                      or update_freq < 1):
            raise ValueError(f"TensorBoard: update_freq: found {update_freq!r}; expected 'epoch', 'batch' or a number of batches")
        super().__init__(0, log_dir=os.fspath(log_dir), histogram_freq=histogram_freq, write_graph=bool(write_graph),
                         write_steps_per_second=bool(write_steps_per_second), update_freq=update_freq,
                         profile_batch=_batches(profile_batch), samples=samples,
                         confusion_matrix=bool(confusion_matrix), hyperparameters=bool(hyperparameters))


class SwapEMAWeights(_Native):
    """Evaluation and prediction see the averages of an optimizer with use_ema as the model's weights; with swap_on_epoch the
    end of an epoch does, too, so that ModelCheckpoint saves them. After a prediction the weights are those before it (Keras 3.15
    leaves the averages)."""

    _name = "swap_ema_weights"

    def __init__(self, swap_on_epoch=False):
        super().__init__(0, swap_on_epoch=bool(swap_on_epoch))

    def _swap(self, logs=None) -> None:
        """The averages become the weights, and the weights the averages: outside of fit."""
        if not self.model.optimizer.use_ema:
            raise ValueError("SwapEMAWeights must be used when `use_ema=True` is set on the optimizer. Received: use_ema=False")
        self.model._model.swap_averages()

    on_test_begin = on_test_end = on_predict_begin = on_predict_end = _swap


class BackupAndRestore(Callback):
    """A backup of the whole model in a folder, after each epoch or every save_freq steps, from which a fit that was interrupted
    goes on: with the first epoch that was not complete. It is deleted when the fit ends, unless delete_checkpoint=False."""

    def __init__(self, backup_dir, save_freq="epoch", double_checkpoint=False, delete_checkpoint=True):
        super().__init__()
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and (isinstance(save_freq, bool) or not isinstance(save_freq, int) or save_freq < 1):
            raise ValueError(f"BackupAndRestore: save_freq: found {save_freq!r}; expected 'epoch' or a number of steps")
        self.backup_dir, self.save_freq = os.fspath(backup_dir), save_freq
        self.double_checkpoint, self.delete_checkpoint = bool(double_checkpoint), bool(delete_checkpoint)
        self._epoch = self._steps = 0

    def _path(self, before: str = "") -> str:
        return os.path.join(self.backup_dir, f"backup{before}.safetensors")

    def _restore(self, model) -> int | None:
        """Give the model what the backup has; returns the epoch to go on with, None where there is no backup."""
        for path in (self._path(), self._path("_before")):
            if os.path.exists(path) and os.path.exists(f"{path}.json"):
                with open(f"{path}.json") as file:
                    told = json.load(file)
                model._restore(path, told["layers"])
                return told["epoch"]
        return None

    def _save(self) -> None:
        os.makedirs(self.backup_dir, exist_ok=True)
        path = self._path()
        if self.double_checkpoint and os.path.exists(path):
            for end in ("", ".json"):
                os.replace(path + end, self._path("_before") + end)
        self.model.save(path)  # first: where the run is stopped between the two, an epoch is repeated, and none is left out
        with open(f"{path}.json.new", "w") as file:
            json.dump({"epoch": self._epoch, "layers": self.model._layer_paths()}, file)
        os.replace(f"{path}.json.new", f"{path}.json")

    def on_train_begin(self, logs=None):
        """A fit of this callback begins."""
        self._steps = 0

    def on_epoch_begin(self, epoch, logs=None):
        """Where a fit goes on that is interrupted now."""
        self._epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        """Every save_freq steps."""
        self._steps += 1
        if self.save_freq != "epoch" and self._steps % self.save_freq == 0:
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        """After each epoch."""
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._save()

    def on_train_end(self, logs=None):
        """Nothing is left to go on with."""
        for path in (self._path(), self._path("_before")) if self.delete_checkpoint else ():
            for end in ("", ".json"):
                if os.path.exists(path + end):
                    os.remove(path + end)

    def _wants_batches(self) -> bool:
        return self.save_freq != "epoch"


class RemoteMonitor(Callback):
    """Sends each epoch's number and logs to an HTTP server: as the form's field `field`, or as JSON."""

    def __init__(self, root="http://localhost:9000", path="/publish/epoch/end/", field="data", headers=None,
                 send_as_json=False):
        super().__init__()
        self.root, self.path, self.field, self.headers, self.send_as_json = root, path, field, headers, send_as_json

    def on_epoch_end(self, epoch, logs=None):
        """A warning where the server is not reached."""
        import urllib.error
        import urllib.parse
        import urllib.request

        text = json.dumps({"epoch": epoch, **{key: float(value) for key, value in (logs or {}).items()}})
        body, kind = (text, "application/json") if self.send_as_json else (
            urllib.parse.urlencode({self.field: text}), "application/x-www-form-urlencoded")
        request = urllib.request.Request(self.root + self.path, body.encode(), {"Content-Type": kind, **(self.headers or {})})
        try:
            with urllib.request.urlopen(request):
                pass
        except urllib.error.HTTPError:
            pass  # it was reached, and refused
        except OSError:
            warnings.warn(f"Could not reach RemoteMonitor root server at {self.root}", stacklevel=2)


__all__ = ["BackupAndRestore", "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau", "RemoteMonitor", "TensorBoard",
           "SwapEMAWeights", "TerminateOnNaN"]

__getattr__ = missing("cornu.keras.callbacks", __all__, _keras_names.callbacks, instead={
    "OrbaxCheckpoint": "ModelCheckpoint writes .keras and .safetensors files",
})
