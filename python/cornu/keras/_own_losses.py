"""Losses of one's own: functions of (y_true, y_pred), and classes of keras.losses.Loss with a call of their own. The library
gets each as a network, traced once the shapes of targets and outputs are known."""
from typing import Any, Callable, NamedTuple

import numpy as np

from .._tables import plain
from ._native_data import arrays_by_name, has_arrays
from ._objects import name_of_class
from ._tensors import FlatShape, shown_as
from ._tracing import network_of_loss


class Form(NamedTuple):
    """How the targets of an output look."""

    classes: bool = False  # one number for each of the output's rows
    flat: bool = False  # without an axis behind the batch


class OwnLoss:
    """What compile got, with how Keras calls it."""

    def __init__(self, given):
        self.given = given
        self.is_class = not isinstance(given, Callable) or hasattr(given, "get_config")
        self.name = given.name if self.is_class else getattr(given, "__name__", type(given).__name__)
        self.reduction = given.reduction if self.is_class else "sum_over_batch_size"

    def entry(self) -> dict:
        """As Keras's files have it."""
        if not self.is_class:
            return {"module": "builtins", "class_name": "function", "config": self.name, "registered_name": "function"}
        cls = type(self.given)
        return {"module": None, "class_name": cls.__name__, "config": plain(self.given.get_config()),
                "registered_name": name_of_class(cls)}

    def traced(self, output: tuple, form: Form | None) -> dict:
        """As the library takes it. form None: not known yet, when nothing is computed; a stand-in is in its place."""
        form, stands_in = form or Form(), form is None
        target = (*output[:-1], 1) if form.classes else output

        def losses(y_true, y_pred):
            if stands_in:
                return y_pred
            if form.flat and (self.is_class or y_pred.shape[-1] != 1):  # Keras makes ranks equal for functions alone
                y_true = shown_as(y_true, FlatShape((None,), y_true.sample))
            return self.given.call(y_true, y_pred) if self.is_class else self.given(y_true, y_pred)

        return {**self.entry(), "traced": {"targets": "classes" if form.classes else "values", "reduction": self.reduction,
                                           "model": network_of_loss(self.name, losses, target, output)}}


def has_own(loss) -> bool:
    """Is a loss of compile one's own, or one for an output?"""
    if isinstance(loss, dict):
        return any(map(has_own, loss.values()))
    if isinstance(loss, (list, tuple)):
        return any(map(has_own, loss))
    return isinstance(loss, OwnLoss)


def with_losses(compiled: dict, handle, forms: list | None) -> dict:
    """A compile section as the library takes it: losses of one's own are networks for its model's outputs."""
    loss, ends = compiled["loss"], handle.ends()[1]
    if not has_own(loss):
        return compiled
    each = arrays_by_name(loss, ends, "loss", "output") if isinstance(loss, (dict, list, tuple)) else [loss] * len(ends)
    traced = [one.traced(end[1], forms and forms[number]) if isinstance(one, OwnLoss) else one
              for number, (one, end) in enumerate(zip(each, ends))]
    return {**compiled, "loss": traced[0] if len(ends) == 1 else traced}


def forms_of(y: Any, ends: list) -> list[Form]:
    """How these targets of a model's outputs look."""
    if len(ends) == 1 and isinstance(y, (list, tuple)) and len(y) == 1 and np.ndim(y[0]) > 0:
        y = y[0]
    several = isinstance(y, dict) or len(ends) > 1 and has_arrays(y)
    arrays = arrays_by_name(y, ends, "y", "output") if several else [y] * len(ends)
    return [_form(array, end[1]) for array, end in zip(arrays, ends)]


def _form(array, output: tuple) -> Form:
    shape = np.shape(array)
    rows = int(np.prod(output[:-1]))
    return Form(output[-1] > 1 and array is not None and int(np.prod(shape[1:])) == rows, len(shape) == 1)
