"""One call of fit, evaluate or predict: the library's callbacks to Keras's."""
import json
import warnings

from . import callbacks as callbacks_module
from ._progress import Progress


def callback_list(callbacks, what: str) -> list:
    if isinstance(callbacks, callbacks_module.CallbackList):
        callbacks = callbacks.callbacks
    callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    for callback in callbacks:
        if not isinstance(callback, callbacks_module.Callback):
            raise TypeError(f"{what}: callbacks: found {callback!r}; expected a keras.callbacks.Callback")
    return callbacks


def _wants(callback, hooks: tuple) -> bool:
    """Does it do anything there?"""
    return any(getattr(type(callback), hook) is not getattr(callbacks_module.Callback, hook) or hook in vars(callback)
               for hook in hooks)


class TestRun:
    """One call of evaluate or predict: its lines and its callbacks. kind: "test" or "predict"."""

    def __init__(self, model, progress: Progress, callbacks: list, kind: str):
        self.progress, self.kind, self.done = progress, kind, 0
        self.callbacks = [c for c in callbacks if not isinstance(c, callbacks_module._Native)
                          or isinstance(c, callbacks_module.SwapEMAWeights)]
        for callback in self.callbacks:
            callback.set_model(model)

    def _all(self, hook: str, *arguments) -> None:
        for callback in self.callbacks:
            getattr(callback, f"on_{self.kind}_{hook}")(*arguments)

    def start(self, work):
        self._all("begin", {})
        try:
            self._all("batch_begin", 0, {})
            result = work()
        except BaseException:  # weights that were swapped are swapped back
            for callback in self.callbacks:
                if isinstance(callback, callbacks_module.SwapEMAWeights):
                    getattr(callback, f"on_{self.kind}_end")({})
            raise
        self._all("end", {})
        return result

    def on_step(self, epoch, epochs, step, steps, seconds, rate, logs):
        self.done = step
        self.progress.step(step, steps, seconds, logs, step == steps)
        self._all("batch_end", step - 1, logs)
        if step < steps:
            self._all("batch_begin", step, {})

    def after(self, outputs, count: int):
        """A batch of predict."""
        self.done += 1
        self.progress.step(self.done, count, None, {}, self.done == count)
        self._all("batch_end", self.done - 1, {"outputs": outputs})
        if self.done < count:
            self._all("batch_begin", self.done, {})
        return outputs

    def whole(self, outputs, count: int):
        """All batches of predict, in one."""
        self.progress.step(count, count, None, {}, True)
        return outputs


class FitRun:
    """One call of fit: the library's callbacks to Keras's."""

    def __init__(self, model, epochs, progress, callbacks, steps):
        self.model, self.epochs, self.progress = model, epochs, progress
        self.history = callbacks_module.History()
        callbacks = callback_list(callbacks, "fit")
        self.native = [c for c in callbacks if isinstance(c, callbacks_module._Native)]
        self.python = [c for c in callbacks if not isinstance(c, callbacks_module._Native)] + [self.history]
        self.batches = any(c._wants_batches() for c in self.python)
        self.test_batches = any(_wants(c, ("on_test_batch_begin", "on_test_batch_end")) for c in self.python)
        self.tests = self.test_batches or any(_wants(c, ("on_test_begin", "on_test_end")) for c in self.python)
        self.testing = False
        self.rates = any(isinstance(c, callbacks_module.ReduceLROnPlateau) for c in self.native)
        self.params = {"epochs": epochs, "steps": steps, "verbose": progress.verbose}
        self.ended: tuple | None = None  # an epoch that a callback has ended

    def sections(self) -> list:
        return [c._section() for c in self.native]

    def states(self) -> str | None:
        """What the library's callbacks go on from, of a fit before."""
        states = [c._state if c._goes_on else None for c in self.native]
        return json.dumps(states) if any(states) else None

    def on_states(self, text: str) -> None:
        """What they remember at the end."""
        for callback, state in zip(self.native, json.loads(text)):
            callback._remember(state)

    def start(self, work):
        self.model.stop_training = False
        self.model.history = self.history
        for callback in self.native:
            callback._begin()
        for callback in [*self.python, *self.native]:
            callback.set_model(self.model)
            callback.set_params(self.params)
        self._all("on_train_begin", {})
        work()
        if self.ended:
            self.on_epoch(*self.ended)
            self.model.optimizer.finalize_variable_values(self.model.trainable_weights)
        self._all("on_train_end", {})
        return self.history

    def _all(self, hook: str, *arguments) -> None:
        for callback in self.python:
            getattr(callback, hook)(*arguments)
        self.model._set_rate()

    def on_epoch_begin(self, epoch, epochs, step, steps, seconds, rate, logs):
        if self.rates and epoch > 0:  # it may have been reduced
            self.model.optimizer.learning_rate = self.model._rate = rate
        self._all("on_epoch_begin", epoch, {})
        self.progress.epoch(epoch, epochs)
        self._begin_batch(0)

    def _begin_batch(self, batch: int) -> None:
        if self.batches:
            self._all("on_train_batch_begin", batch, {})
            self._all("on_batch_begin", batch, {})

    def on_step(self, epoch, epochs, step, steps, seconds, rate, logs):
        self.progress.step(step, steps, seconds, logs, False)
        if self.batches:
            self._all("on_train_batch_end", step - 1, logs)
            self._all("on_batch_end", step - 1, logs)
        if self.model.stop_training and step != steps:
            self.ended = epoch, epochs, steps or step, steps, seconds, rate, logs
        elif step < steps or not steps:
            self._begin_batch(step)
        return self.ended is not None

    def on_validation(self, epoch, epochs, step, steps, seconds, rate, logs):
        if step == 0:
            self.testing = True
            self._all("on_test_begin", {})
            self._all("on_test_batch_begin", 0, {})
            return
        if self.test_batches:
            self._all("on_test_batch_end", step - 1, logs)
            if step < steps or not steps:
                self._all("on_test_batch_begin", step, {})

    def on_epoch(self, epoch, epochs, step, steps, seconds, rate, logs):
        logs = dict(sorted(logs.items()))
        if self.testing:
            self.testing = False
            self._all("on_test_end", {k[4:]: v for k, v in logs.items() if k.startswith("val_")})
        if self.rates:
            logs["learning_rate"] = rate
        self._all("on_epoch_end", epoch, logs)  # which may add to them
        self.progress.step(step, steps or step, seconds, logs, True)
        return self.model.stop_training

    def on_notice(self, line):
        """The lines of the library's callbacks begin with the epoch; Keras's are silent unless they are to be verbose."""
        head, _, rest = line.partition(": ")
        if not head.startswith("Epoch "):
            if "trainable" in line:  # Keras warns, too
                warnings.warn(line, stacklevel=2)
            elif self.progress.verbose:
                self.progress._write(f"cornu: {line}\n")
            return
        for callback in self.native:
            if any(word in rest for word in callback._says):
                told = callback._told(int(head[6:]) - 1, line)
                if callback.verbose:
                    self.progress._write(told)
