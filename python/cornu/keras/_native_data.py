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
    return loss["class_name"] if isinstance(loss, dict) else loss if isinstance(loss, str) else None


def check_labels(handle, mode: str, classes: int, name: str) -> None:
    """Does the loss take what this class_mode (or label_mode) gives? The library makes one-hot rows by itself."""
    outputs, loss = handle.shapes()[1][-1], _loss_of(handle)
    if mode == "categorical" and loss in _SPARSE:
        raise ValueError(f"{name}: found 'categorical'; {loss} takes class numbers, '{'int' if name == 'label_mode' else 'sparse'}'")
    if mode == "categorical" and outputs != classes and not handle.classes():  # else the library goes by names
        raise ValueError(f"{name}: found {classes} classes; the model has {outputs} outputs")
    if mode != "categorical" and is_sparse(handle) and classes > outputs:
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
    return handle.ends()[1][0][3]


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


def arrays_by_name(values, ends: list, what: str, kind: str) -> list:
    """One array for each of a model's inputs or outputs, in their order: of a list, or of a dictionary of their names."""
    names = [end[0] for end in ends]
    if isinstance(values, dict):
        unknown = [name for name in values if name not in names]
        if unknown:
            raise ValueError(f"{what}: found {unknown[0]!r}; the model's {kind}s are {', '.join(names)}")
        missing = [name for name in names if name not in values]
        if missing:
            raise ValueError(f"{what}: found nothing for the {kind} {missing[0]!r}; expected an array for each of "
                             f"{', '.join(names)}")
        return [values[name] for name in names]
    if not isinstance(values, (list, tuple)) or len(values) != len(names):
        found = f"{len(values)} things" if isinstance(values, (list, tuple)) else "one array"
        raise ValueError(f"{what}: found {found}; expected an array for each of the model's {len(names)} {kind}s, "
                         f"{', '.join(names)}")
    return list(values)


def has_arrays(value) -> bool:
    """Is it a list of arrays, not of numbers?"""
    return isinstance(value, (list, tuple)) and any(one is None or np.ndim(one) > 0 for one in value)


def arrays_of_outputs(values, ends: list, what: str) -> list:
    """One array for each of several outputs, of a list or a dictionary. As in Keras, those without a loss (and metrics) may
    be left out, or be None."""
    wanted = [end for end in ends if end[2]]
    if isinstance(values, dict):
        return arrays_by_name({**{name: None for name, _, size, *_ in ends if not size}, **values}, ends, what, "output")
    if len(wanted) == 1 and not has_arrays(values):
        values = [values]
    if not isinstance(values, (list, tuple)) or len(values) != len(wanted):
        return arrays_by_name(values, ends, what, "output")
    given = iter(values)
    return [next(given) if size else None for _, _, size, *_ in ends]


def rows_of(arrays: list[np.ndarray], what: str) -> np.ndarray:
    """The arrays of several inputs or outputs as the library takes them: one after another in each row."""
    counts = {len(array) for array in arrays}
    if len(counts) > 1:
        raise ValueError(f"{what}: found arrays of {', '.join(str(len(a)) for a in arrays)} samples; expected as many in each")
    return np.concatenate([array.reshape(len(array), -1).astype(np.float32, copy=False) for array in arrays], axis=1)


def _target_of(array, size: int, classes: bool, outputs: int, count: int, what: str) -> np.ndarray:
    """The targets of one of several outputs; what is given to one that has no loss only has to be of as many samples."""
    if array is None:
        if size:
            raise ValueError(f"{what}: found None; expected targets, as the output has a loss or metrics")
        return np.empty((count, 0), np.float32)
    array = numbers_of(array, what)
    if not size:
        if array.ndim == 0 or len(array) != count:
            raise ValueError(f"{what}: found targets of shape {array.shape}; expected {count} samples, or None")
        return np.empty((count, 0), np.float32)
    if array.ndim == 0 or len(array) != count or array.size != count * size:
        raise ValueError(f"{what}: found targets of shape {array.shape}; expected "
                         f"{f'{size} class number(s)' if classes else (count, size)}{' a sample' if classes else ''}")
    flat = array.reshape(count, size)
    if not np.all(np.isfinite(flat)):
        raise ValueError(f"{what}: found targets that are not finite numbers")
    if classes and count and (np.any(flat != np.floor(flat)) or flat.min() < 0 or flat.max() >= outputs):
        raise ValueError(f"{what}: found class numbers from {flat.min()} to {flat.max()}; expected whole ones from 0 to "
                         f"{outputs - 1}")
    return flat


def targets_of(handle, y, count: int, what: str) -> np.ndarray:
    """Targets as the library takes them for the model's loss: class numbers, or rows of floats."""
    ends = handle.ends()[1]
    if isinstance(y, dict) and len(ends) == 1:
        y = arrays_by_name(y, ends, what, "output")[0]
    if len(ends) > 1:
        arrays = arrays_of_outputs(y, ends, what)
        return rows_of([_target_of(array, size, classes, shape[-1], count, f"{what}[{name!r}]")
                        for array, (name, shape, size, classes) in zip(arrays, ends)], what)
    if isinstance(y, (list, tuple)) and len(y) == 1 and np.ndim(y[0]) > 0 and len(y[0]) == count:
        y = y[0]  # an array in a list, as of several outputs
    array = numbers_of(y, what)
    if array.ndim == 0 or len(array) != count:
        raise ValueError(f"{what}: found {array.shape[0] if array.ndim else 'a single'} targets for {count} samples")
    outputs = int(np.prod(handle.shapes()[1]))
    _, shape, size, classes = ends[0]
    if classes and size > 1:  # one for each position: rows of floats
        return np.ascontiguousarray(_target_of(array, size, classes, shape[-1], count, what), np.float32)
    if not classes and size == 1:  # also labels, which circle compares: Keras takes the whole part
        flat = _target_of(array, size, classes, shape[-1], count, what)
        return np.ascontiguousarray(flat if outputs == 1 else np.trunc(flat), np.float32)
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
