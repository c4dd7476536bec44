"""What data objects share that the library itself loads."""
import json
import os
import sys
import threading
from typing import Any, Callable

import numpy as np

from .._tables import TABLES

_SPARSE = {name for row in TABLES["losses"] if row["sparse"] for name in (row["name"], row["class_name"])}


class Opened(threading.local):
    """The library's data sets, once opened: one thread at a time may use one, so each thread has its own; and so has a
    process that fork made, where those before it have no workers."""

    def __init__(self):
        self.data: dict[Any, Any] = {}

    def get(self, key, opening: Callable[[], Any]):
        own = os.getpid(), key
        if own not in self.data:
            self.data[own] = opening()
        return self.data[own]


def write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def check_inputs(handle, image_shape: tuple) -> None:
    """Are pictures of this shape the model's inputs?"""
    expected = handle.shapes()[0]
    if expected != image_shape and (*expected, 1) != image_shape:
        raise ValueError(f"found pictures of shape {image_shape}; the model's input is {expected}")


def _loss_of(handle) -> str | None:
    loss = (json.loads(handle.compile_config()) or {}).get("loss")
    return loss["class_name"] if isinstance(loss, dict) else loss


def check_labels(handle, mode: str, classes: int, name: str) -> None:
    """Does the loss take what this class_mode (or label_mode) gives? The library makes one-hot rows by itself."""
    outputs, loss = handle.shapes()[1][-1], _loss_of(handle)
    if mode == "categorical" and loss in _SPARSE:
        raise ValueError(f"{name}: found 'categorical'; {loss} takes class numbers, '{'int' if name == 'label_mode' else 'sparse'}'")
    if mode == "categorical" and outputs != classes and not handle.classes():  # else the library goes by names
        raise ValueError(f"{name}: found {classes} classes; the model has {outputs} outputs")
    if mode != "categorical" and loss in _SPARSE and classes > outputs:
        raise ValueError(f"{name}: found {classes} classes; the model has {outputs} outputs")
    if mode != "categorical" and loss not in _SPARSE and outputs != 1:
        raise ValueError(f"{name}: found {mode!r}; {loss} takes {outputs} values a sample, 'categorical'")


def check_names(handle, names: list | None, what: str) -> None:
    """Batches that Python makes have numbers alone: are they of the model's classes?"""
    known = handle.classes()
    if names and known and list(names) != known:
        raise ValueError(f"{what}: found the classes {', '.join(names)}; the model's are {', '.join(known)}; expected the same "
                         f"of batches that are made in Python (model.class_names = None forgets the model's)")


def is_sparse(handle) -> bool:
    """Does the model's loss take class numbers?"""
    return _loss_of(handle) in _SPARSE


def numbers_of(value, what: str) -> np.ndarray:
    """An array of numbers, of what is one or speaks one's protocols."""
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "buif":
        raise TypeError(f"{what}: found an array of {array.dtype}; expected numbers")
    return array


def targets_of(handle, y, count: int, what: str) -> np.ndarray:
    """Targets as the library takes them for the model's loss: class numbers, or rows of floats."""
    array = numbers_of(y, what)
    if array.ndim == 0 or len(array) != count:
        raise ValueError(f"{what}: found {array.shape[0] if array.ndim else 'a single'} targets for {count} samples")
    outputs = int(np.prod(handle.shapes()[1]))
    if not is_sparse(handle):
        if array.size != count * outputs:
            raise ValueError(f"{what}: found targets of shape {array.shape}; expected {(count, outputs)}")
        out = np.ascontiguousarray(array, np.float32).reshape(count, outputs)
        if not np.all(np.isfinite(out)):
            raise ValueError(f"{what}: found targets that are not finite numbers")
        return out
    if array.size != count:
        raise ValueError(f"{what}: found targets of shape {array.shape}; expected one class number a sample")
    flat = array.reshape(count)
    if not np.all(np.isfinite(flat)) or np.any(flat != np.floor(flat)):
        raise ValueError(f"{what}: found targets that are no whole numbers; expected class numbers")
    if count and (flat.min() < 0 or flat.max() >= outputs):
        raise ValueError(f"{what}: found class numbers from {flat.min()} to {flat.max()}; expected 0 to {outputs - 1}")
    return np.ascontiguousarray(flat, np.int32)
