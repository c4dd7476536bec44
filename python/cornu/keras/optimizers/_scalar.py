"""Numbers that can be asked as Keras's variables and tensors are."""
import numbers

import numpy as np


class Scalar:
    """A number that also has numpy, value, shape and dtype. Its classes say which: __float__."""

    shape, ndim, dtype, trainable = (), 0, "float32", False

    def __float__(self) -> float:
        raise NotImplementedError

    def numpy(self):
        """As a NumPy number."""
        return np.dtype(self.dtype).type(float(self))

    @property
    def value(self) -> "Scalar":
        """The number itself; in tf.keras 2 value() is called."""
        return self

    def __call__(self) -> "Scalar":
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(float(self), dtype)


def _as_float(name: str):
    def operation(self, *others):
        return getattr(float(self), name)(*(float(other) if isinstance(other, Scalar) else other for other in others))

    return operation


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs round trunc "
              "int bool eq ne lt le gt ge hash repr str format").split():
    setattr(Scalar, f"__{_name}__", _as_float(f"__{_name}__"))
numbers.Real.register(Scalar)


class Fixed(Scalar):
    """A number that was computed."""

    def __init__(self, number: float):
        self._number = number

    def __float__(self) -> float:
        return self._number


class Steps(Scalar):
    """The steps that an optimizer has taken."""

    name, dtype = "iteration", "int64"

    def __init__(self, optimizer, accumulates: bool = False):
        self._optimizer, self._accumulates = optimizer, accumulates  # several steps are one, as Keras counts iterations

    def __int__(self) -> int:
        model = self._optimizer._trains()
        taken = 0 if model is None or model._model is None else model._model.position()["iterations"]
        return taken // (self._accumulates and self._optimizer.gradient_accumulation_steps or 1)

    __index__ = __trunc__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(int(self), dtype)

    def __repr__(self) -> str:
        return repr(int(self))

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(int(self), how)


class Rate(Scalar):
    """An optimizer's learning rate as it is now: a number, and as Keras's variable it has assign."""

    name = "learning_rate"

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __float__(self) -> float:
        return float(self._optimizer._config["learning_rate"])

    def assign(self, value) -> "Rate":
        """Set it, as optimizer.learning_rate = value does."""
        self._optimizer.learning_rate = float(value)
        return self

    def assign_add(self, value) -> "Rate":
        """Raise it by value."""
        return self.assign(float(self) + float(value))

    def assign_sub(self, value) -> "Rate":
        """Lower it by value."""
        return self.assign(float(self) - float(value))


class ScheduledRate(Rate):
    """The rate that an optimizer's schedule gives the next step. It cannot be set. As in tf.keras 2 it is also the schedule:
    called with a step it gives that step's rate, and it has the schedule's attributes."""

    def __float__(self) -> float:
        return float(self._schedule(int(Steps(self._optimizer))))

    def __call__(self, step=None):
        return self if step is None else self._schedule(step)

    @property
    def _schedule(self):
        return self._optimizer._config["learning_rate"]

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._schedule, name)
