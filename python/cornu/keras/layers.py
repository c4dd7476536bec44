"""keras.layers: a class for each row of the library's table."""
import inspect
from typing import Any

import numpy as np

from .._missing import missing
from .._tables import TABLES, Option, options_of, plain, signature_of
from . import _keras_names

_counts: dict[str, int] = {}


def automatic_name(base: str) -> str:
    """dense, dense_1, ... over the whole process, as Keras counts."""
    number = _counts.get(base, 0)
    _counts[base] = number + 1
    return f"{base}_{number}" if number else base


class Variable:
    """A weight of a built model: numpy(), assign(), and an array wherever one is wanted."""

    def __init__(self, model, index: int, path: str, shape: tuple, trainable: bool):
        self._model, self._index, self.path, self.shape, self.trainable = model, index, path, shape, trainable
        self.name = path.rsplit("/", 1)[-1]
        self.dtype = "float32"

    def numpy(self) -> np.ndarray:
        out = np.empty(self.shape, np.float32)
        self._model.get_weight(self._index, out)
        return out

    def assign(self, value) -> "Variable":
        array = np.ascontiguousarray(value, np.float32)
        if array.shape != self.shape:
            raise ValueError(f"{self.path}: found shape {array.shape}; expected {self.shape}")
        self._model.set_weight(self._index, array)
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"<Variable path={self.path}, shape={self.shape}, dtype=float32>"


class Layer:
    """Base of all layers: options by Keras's names, weights once its model is built."""

    _row: dict
    _options: list[Option]
    _keys = ("name", "dtype", "trainable", "input_shape", "batch_input_shape", "input_dim", "batch_size")

    def __init__(self, *args, **kwargs):
        cls = type(self)
        keys = {k: kwargs.pop(k) for k in self._keys if k in kwargs}
        if keys.get("dtype") not in (None, "float32"):
            raise NotImplementedError(f"{cls.__name__}: dtype={keys['dtype']!r} is not in cornu; it computes in float32")
        if keys.get("trainable", True) is not True:
            raise NotImplementedError(f"{cls.__name__}: trainable=False is not in cornu; all weights of a layer train")
        for option in self._row["options"]:
            if option.get("alias") and option["name"] in kwargs and "negative_slope" in self._names():
                kwargs["negative_slope"] = kwargs.pop(option["name"])
        try:
            bound = cls.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}; it takes {cls.__signature__}") from None
        bound.apply_defaults()
        self._config: dict[str, Any] = {k: v for k, v in bound.arguments.items() if k != "kwargs"}
        for option in self._options:
            option.check(cls.__name__, self._config[option.name])
        self.name = keys.get("name") or automatic_name(self._row["name"])
        self.trainable = True
        self._input_shape = self._given_shape(keys)
        self._variables: list[Variable] = []

    @classmethod
    def _names(cls) -> list[str]:
        return [o.name for o in cls._options]

    @staticmethod
    def _given_shape(keys: dict):
        if keys.get("input_shape") is not None:
            return tuple(keys["input_shape"])
        if keys.get("batch_input_shape") is not None:
            return tuple(keys["batch_input_shape"])[1:]
        return (keys["input_dim"],) if keys.get("input_dim") else None

    @property
    def weights(self) -> list[Variable]:
        return list(self._variables)

    @property
    def trainable_weights(self) -> list[Variable]:
        return [v for v in self._variables if v.trainable]

    variables, trainable_variables = weights, trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return [v for v in self._variables if not v.trainable]

    def get_weights(self) -> list[np.ndarray]:
        return [v.numpy() for v in self._variables]

    def set_weights(self, weights) -> None:
        if len(weights) != len(self._variables):
            raise ValueError(f"layer {self.name}: found {len(weights)} weights; expected {len(self._variables)}")
        for variable, value in zip(self._variables, weights):
            variable.assign(value)

    def count_params(self) -> int:
        return sum(int(np.prod(v.shape)) for v in self._variables)

    def get_config(self) -> dict:
        return {"name": self.name, "trainable": True, "dtype": "float32", **self._config}

    @classmethod
    def from_config(cls, config: dict):
        return cls(**config)

    def _describe(self) -> dict:
        """As to_json has it."""
        config = {"name": self.name}
        for option in self._options:
            value = plain(self._config[option.name])
            if not (option.type in ("ignored", "neutral")):
                config[option.name] = value
        return {"class_name": self._row["class_name"], "config": config}

    def __call__(self, *_, **__):
        raise NotImplementedError(f"{type(self).__name__}: calling a layer (the functional API) is not in cornu yet; "
                                  f"keras.Sequential takes a list of layers")

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        config = self.__dict__.get("_config", {})
        if name in config:
            return config[name]
        for variable in self.__dict__.get("_variables", []):
            if variable.name == name:
                return variable
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}"
                             + ("" if self.__dict__.get("_variables") else "; its weights are there once it is built"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


_kwargs = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
__all__ = ["Input", "InputLayer", "Layer"]
for _row in TABLES["layers"]:
    if _row["class_name"] == "InputLayer":
        continue
    _options = options_of(_row)
    _cls = type(_row["class_name"], (Layer,), {
        "__doc__": f"Keras's {_row['class_name']}.",
        "__module__": __name__,
        "__signature__": signature_of(_options, _kwargs),
        "_row": _row,
        "_options": _options,
    })
    for _name in [_row["class_name"], *_row["aliases"]]:
        globals()[_name] = _cls
        __all__.append(_name)


class InputLayer(Layer):
    """The shape of a sample, without the batch."""

    _row = {"class_name": "InputLayer", "name": "input_layer", "options": []}
    _options: list[Option] = []

    def __init__(self, shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None,
                 input_tensor=None, optional=False, name=None, input_shape=None, batch_input_shape=None):
        for key, value in (("sparse", sparse), ("ragged", ragged), ("optional", optional)):
            if value:
                raise NotImplementedError(f"InputLayer: {key}={value!r} is not in cornu; it takes False")
        if input_tensor is not None:
            raise NotImplementedError("InputLayer: input_tensor is not in cornu; it takes a shape")
        batch_shape = batch_shape or batch_input_shape
        shape = shape if shape is not None else input_shape
        if shape is None and batch_shape is None:
            raise ValueError("InputLayer: found no shape; expected that of a sample, such as (28, 28, 1)")
        self._config = {}
        self.name = name or automatic_name("input_layer")
        self.trainable = True
        self._variables = []
        self._input_shape = tuple(shape) if shape is not None else tuple(batch_shape)[1:]
        if any(not isinstance(n, (int, np.integer)) or n < 1 for n in self._input_shape):
            raise ValueError(f"InputLayer: found shape {self._input_shape}; expected whole numbers of at least 1")

    def get_config(self) -> dict:
        return {"batch_shape": (None, *self._input_shape), "dtype": "float32", "sparse": False, "ragged": False,
                "name": self.name}

    @classmethod
    def from_config(cls, config: dict):
        return cls(**config)

    def _describe(self) -> dict:
        return {"class_name": "InputLayer",
                "config": {"batch_shape": [None, *map(int, self._input_shape)], "name": self.name}}


def Input(shape=None, batch_size=None, dtype=None, sparse=None, batch_shape=None, name=None, tensor=None,
          optional=False) -> InputLayer:
    """The first entry of a Sequential: the shape of a sample."""
    return InputLayer(shape, batch_size, dtype, sparse, None, batch_shape, tensor, optional, name)


def deserialize(config: dict) -> Layer:
    """The layer of {class_name, config}."""
    name = config["class_name"]
    if name not in __all__:
        raise NotImplementedError(f"keras.layers.{name} is not in cornu; there is {', '.join(sorted(__all__))}")
    cls = globals()[name]
    known = {"dtype": None, "trainable": True}
    options = {k: v for k, v in config["config"].items() if k not in known}
    return cls.from_config(options)

__getattr__ = missing("cornu.keras.layers", __all__, _keras_names.layers)
