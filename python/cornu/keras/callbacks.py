"""keras.callbacks: Python's own, and those that the library runs itself."""
import math
from typing import Any, Callable

from .._missing import missing
from . import _keras_names


class Callback:
    """Keras's hooks. `self.model.stop_training = True` ends the run."""

    def __init__(self):
        self.model: Any = None
        self.params: dict = {}
        self.validation_data = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None): ...
    def on_train_end(self, logs=None): ...
    def on_epoch_begin(self, epoch, logs=None): ...
    def on_epoch_end(self, epoch, logs=None): ...
    def on_train_batch_begin(self, batch, logs=None): ...
    def on_train_batch_end(self, batch, logs=None): ...
    def on_batch_begin(self, batch, logs=None): ...
    def on_batch_end(self, batch, logs=None): ...
    def on_test_begin(self, logs=None): ...
    def on_test_end(self, logs=None): ...
    def on_test_batch_begin(self, batch, logs=None): ...
    def on_test_batch_end(self, batch, logs=None): ...
    def on_predict_begin(self, logs=None): ...
    def on_predict_end(self, logs=None): ...
    def on_predict_batch_begin(self, batch, logs=None): ...
    def on_predict_batch_end(self, batch, logs=None): ...

    def _wants_batches(self) -> bool:
        return any(getattr(type(self), name) is not getattr(Callback, name) for name in
                   ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"))


class LambdaCallback(Callback):
    """A callback made of functions."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None,
                 on_train_batch_begin=None, on_train_batch_end=None, **kwargs):
        super().__init__()
        given = dict(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end, on_train_begin=on_train_begin,
                     on_train_end=on_train_end, on_train_batch_begin=on_train_batch_begin,
                     on_train_batch_end=on_train_batch_end, **kwargs)
        self._batches = on_train_batch_begin is not None or on_train_batch_end is not None
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)

    def _wants_batches(self) -> bool:
        return self._batches


class History(Callback):
    """What fit returns: `history`, a list an epoch for each value."""

    def __init__(self):
        super().__init__()
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class _Native(Callback):
    """A callback that the library runs, in C."""

    _name = ""
    verbose = 0

    def _section(self) -> dict:
        return {self._name: {k: v for k, v in self._options.items() if v is not None}}


class EarlyStopping(_Native):
    """End the run when the monitored value has not improved for `patience` epochs."""

    _name = "early_stopping"

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False, start_from_epoch=0):
        super().__init__()
        self.verbose = verbose
        self._options = dict(monitor=monitor, min_delta=min_delta, patience=patience, mode=mode, baseline=baseline,
                             restore_best_weights=restore_best_weights, start_from_epoch=start_from_epoch)


class ReduceLROnPlateau(_Native):
    """Lower the learning rate when the monitored value has not improved for `patience` epochs."""

    _name = "reduce_lr_on_plateau"

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4,
                 cooldown=0, min_lr=0.0):
        super().__init__()
        self.verbose = verbose
        self._options = dict(monitor=monitor, factor=factor, patience=patience, mode=mode, min_delta=min_delta,
                             cooldown=cooldown, min_lr=min_lr)


class ModelCheckpoint(_Native):
    """Save the model (a .safetensors file) while it trains."""

    _name = "checkpoint"

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False,
                 mode="auto", save_freq="epoch", initial_value_threshold=None):
        super().__init__()
        self.verbose = verbose
        if initial_value_threshold is not None:
            raise NotImplementedError("ModelCheckpoint: initial_value_threshold is not in cornu; it takes None")
        self._options = dict(filepath=str(filepath), monitor=monitor, mode=mode, save_best_only=save_best_only,
                             save_weights_only=save_weights_only, save_freq=save_freq)


class CSVLogger(_Native):
    """A row an epoch in a CSV file."""

    _name = "csv_logger"

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        if separator != ",":
            raise NotImplementedError(f"CSVLogger: separator={separator!r} is not in cornu; it takes ','")
        self._options = dict(filename=str(filename), append=append)


class TerminateOnNaN(_Native):
    """End the run when the loss is no longer a finite number."""

    _name = "terminate_on_nan"

    def __init__(self, raise_error=False):
        super().__init__()
        if raise_error:
            raise NotImplementedError("TerminateOnNaN: raise_error=True is not in cornu yet; it takes False")
        self._options: dict = {}


class LearningRateScheduler(_Native):
    """`schedule(epoch, learning_rate)` gives each epoch's learning rate; it is asked for all epochs at the start."""

    _name = "learning_rate_schedule"

    def __init__(self, schedule: Callable, verbose=0):
        super().__init__()
        self.verbose = verbose
        self.schedule = schedule

    def _at(self, epochs: int, rate: float) -> dict:
        boundaries, values = [], []
        for epoch in range(epochs):
            try:
                rate = float(self.schedule(epoch, rate))
            except TypeError:
                rate = float(self.schedule(epoch))
            if not math.isfinite(rate) or rate < 0:
                raise ValueError(f"LearningRateScheduler: found {rate} for epoch {epoch}; expected a number of at least 0")
            if not values or rate != values[-1]:
                boundaries += [epoch - 1] if values else []
                values.append(rate)
        if len(boundaries) > 32:
            raise NotImplementedError(f"LearningRateScheduler: {len(boundaries)} changes of the rate are not in cornu; "
                                      f"it takes 32; an optimizer takes keras.optimizers.schedules")
        if not boundaries:
            return {self._name: {"constant": {"learning_rate": values[0] if values else rate}}}
        return {self._name: {"step": {"boundaries": boundaries, "values": values}}}


__all__ = ["CSVLogger", "Callback", "EarlyStopping", "History", "LambdaCallback", "LearningRateScheduler",
           "ModelCheckpoint", "ReduceLROnPlateau", "TerminateOnNaN"]

__getattr__ = missing("cornu.keras.callbacks", __all__, _keras_names.callbacks)
