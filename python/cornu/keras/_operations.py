"""Operations of keras.ops that are no layers in Keras: a class for each row of the library's table that is one. Networks of
tensors have them as they have layers; Model.layers does not list them."""
from typing import Any

import numpy as np

from .._tables import KWARGS, TABLES, make_classes
from .layers import Layer
from ._tensors import KerasTensor

_MODULE = "keras.src.ops."


class Operation(Layer):
    """Base of all operations: what a call on tensors makes, which Keras has no layer for."""

    _row = None
    _is_operation = _is_called_once = True
    _given: list[str] = []  # options that Keras has in the call: after its tensors or, of arrays, by their places
    _takes_arrays = False

    @property
    def _keras_module(self) -> str:
        return self._row["operation"] or f"{_MODULE}numpy"

    def arguments(self, tensors: list) -> list:
        """The arguments of the call as JSON values: these tensors, and the others."""
        given = [tensors] if self.takes_list else list(tensors)
        for place, name in enumerate(self._given):
            if not self._takes_arrays:
                given.append(self._config[name])
            elif self._config[name] is not None:
                given.insert(place, self._config[name])
        return given

    @property
    def takes_list(self) -> bool:
        """Are its tensors in a list?"""
        return bool(self._row["operation"]) and self._row["merges"] and not self._row["unlisted"]

    def get_config(self) -> dict:
        """As Keras has it."""
        return {"name": self.name, **{k: v for k, v in super().get_config().items()
                                      if k not in ("name", "trainable", "dtype", *self._given)}}

    def __reduce__(self):
        return _restored, (type(self).__name__, {"name": self.name, **self._config})


def key_of(key) -> list:
    """What stands between brackets, as Keras writes it."""
    return [_item(item) for item in (key if isinstance(key, tuple) else (key,))]


def _item(item) -> Any:
    if isinstance(item, slice):
        return {"class_name": "__slice__", "config": {"start": _number(item.start), "stop": _number(item.stop),
                                                       "step": _number(item.step)}}
    if item is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    return _number(item)


def _number(value) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise NotImplementedError(f"a tensor's part of {value!r} is not in cornu; it takes whole numbers, slices of them, None "
                                  f"and an ellipsis")
    return value.__index__()


def _rows() -> list[dict]:
    return [row for row in TABLES["layers"] if row["operation"] or any(o["argument"] for o in row["options"])]


classes: dict[str, type] = {}
make_classes("layers", Operation, __name__, classes, rows=_rows(), extra=(KWARGS,))
for _cls in classes.values():
    _cls._given = [o["name"] for o in _cls._row["options"] if o["argument"]]
    _cls._takes_arrays = any(o["type"] == "array" for o in _cls._row["options"])


def is_operation(entry: dict) -> bool:
    """Is an entry of a configuration an operation?"""
    return str(entry.get("module")).startswith(_MODULE)


def is_tensors(value) -> bool:
    """An argument of a call: tensors?"""
    if isinstance(value, dict):
        return value.get("class_name") == "__keras_tensor__" or bool(value) and all(map(is_tensors, value.values()))
    return isinstance(value, list) and bool(value) and all(map(is_tensors, value))


def _options(entry: dict) -> dict | None:
    """The options that stand in an entry's call; None where they are not in the form that the library writes."""
    cls, nodes = classes.get(entry["class_name"]), entry["inbound_nodes"]
    if cls is None or len(nodes) != 1 or nodes[0]["kwargs"]:
        return None
    args = nodes[0]["args"]
    others = [value for value in args if not is_tensors(value)]
    if not cls._takes_arrays:
        return dict(zip(cls._given, others)) if len(others) == len(cls._given) else None
    if not others:  # the layer checks the number of tensors
        return {}
    return {name: value for name, value in zip(cls._given, args) if not is_tensors(value)} if len(args) == len(cls._given) else None


def is_own(entry: dict) -> bool:
    """Is it in the form that the library writes?"""
    return _options(entry) is not None


def of_config(entry: dict) -> Operation:
    """The operation of an entry."""
    return classes[entry["class_name"]].from_config({**entry["config"], **_options(entry)})


def array_of(function: str, value) -> Any:
    """An array that stands beside tensors, as Keras writes it; a number as it is."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"ops.{function}: found {value!r} beside a tensor; expected numbers")
    if not array.ndim:
        return array.item()
    return {"class_name": "__numpy__", "config": {"value": array.tolist(), "dtype": str(array.dtype)}}


def _restored(name: str, config: dict) -> Operation:
    return classes[name](**config)


def operation(kind: str, inputs, **options) -> KerasTensor:
    """The output of a new operation on these tensors."""
    return classes[kind](**options)(inputs)
