"""Operations of keras.ops that are no layers in Keras: a class for each row of the library's table that is one. Networks of
tensors have them as they have layers; Model.layers does not list them."""
from typing import Any

from .._tables import KWARGS, TABLES, make_classes
from .layers import Layer
from ._tensors import KerasTensor

_MODULE = "keras.src.ops."


class Operation(Layer):
    """Base of all operations: what a call on tensors makes, which Keras has no layer for."""

    _row = None
    _is_operation = _is_called_once = True
    _given: list[str] = []  # options that Keras has in the call, behind its tensors

    @property
    def _keras_module(self) -> str:
        return self._row["operation"] or f"{_MODULE}numpy"

    @property
    def arguments(self) -> list:
        """What the call has behind its tensors, as JSON values."""
        return [self._config[name] for name in self._given]

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


def is_operation(entry: dict) -> bool:
    """Is an entry of a configuration an operation?"""
    return str(entry.get("module")).startswith(_MODULE)


def is_tensors(value) -> bool:
    """An argument of a call: tensors?"""
    if isinstance(value, dict):
        return value.get("class_name") == "__keras_tensor__" or bool(value) and all(map(is_tensors, value.values()))
    return isinstance(value, list) and bool(value) and all(map(is_tensors, value))


def _others(entry: dict) -> list:
    return [value for value in entry["inbound_nodes"][0]["args"] if not is_tensors(value)]


def is_own(entry: dict) -> bool:
    """Is it in the form that the library writes?"""
    cls = classes.get(entry["class_name"])
    nodes = entry["inbound_nodes"]
    return (cls is not None and len(nodes) == 1 and not nodes[0]["kwargs"] and len(_others(entry)) == len(cls._given))


def of_config(entry: dict) -> Operation:
    """The operation of an entry."""
    cls = classes[entry["class_name"]]
    return cls.from_config({**entry["config"], **dict(zip(cls._given, _others(entry)))})


def _restored(name: str, config: dict) -> Operation:
    return classes[name](**config)


def operation(kind: str, inputs, **options) -> KerasTensor:
    """The output of a new operation on these tensors."""
    return classes[kind](**options)(inputs)
