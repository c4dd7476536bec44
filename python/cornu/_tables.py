"""What the library knows, by its own tables: rows, options, defaults. The classes are made of them."""
import inspect
import json
from typing import Any, Iterable

from . import _cornu

TABLES: dict[str, list[dict]] = json.loads(_cornu.tables())


class Option:
    """One option of a row, as a parameter of Keras's constructor."""

    def __init__(self, row: dict):
        self.name: str = row["name"]
        self.type: str = row["type"]
        self.required: bool = row["required"]
        self.choices: list = row["choices"]
        self.default: Any = row["default"]
        if self.type == "pair" and isinstance(self.default, int):
            self.default = (self.default, self.default)
        if self.type == "neutral" and isinstance(self.default, str) and None in self.choices:
            self.default = None  # Keras's own: as its configuration says
        if self.type == "padding" and isinstance(self.default, int):
            self.default = (self.default, self.default)

    def parameter(self) -> inspect.Parameter:
        empty = inspect.Parameter.empty if self.required else self.default
        return inspect.Parameter(self.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=empty)

    def check(self, owner: str, value: Any) -> None:
        """Keras's own options are taken only where they change nothing."""
        if self.type != "neutral" or any(type(value) is type(c) and value == c or value is c for c in self.choices):
            return
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value in self.choices:
            return
        raise NotImplementedError(
            f"{owner}: {self.name}={value!r} is not in cornu; it takes {' or '.join(map(repr, self.choices))}"
        )


def options_of(row: dict, without: Iterable[str] = ()) -> list[Option]:
    unseen = {"dtype", *without}
    return [Option(o) for o in row["options"] if not o.get("alias") and o["name"] not in unseen]


def signature_of(options: list[Option], *extra: inspect.Parameter) -> inspect.Signature:
    """Parameters in Keras's order; those without a default first, as Python wants it."""
    parameters = [o.parameter() for o in options]
    first = [p for p in parameters if p.default is inspect.Parameter.empty]
    rest = [p for p in parameters if p.default is not inspect.Parameter.empty]
    return inspect.Signature(first + rest + list(extra))


def plain(value: Any) -> Any:
    """A value as JSON has it: objects become Keras's {class_name, config}, functions their names."""
    if hasattr(value, "get_config"):
        return {"module": "keras", "class_name": type(value).__name__, "config": plain(value.get_config())}
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    return value


class Configured:
    """An object made of a row's options: what optimizers, losses, metrics and initializers share."""

    _row: dict
    _options: list[Option]
    _extra: tuple = ()

    def __init__(self, *args, **kwargs):
        name = type(self).__name__
        try:
            bound = type(self).__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it takes {type(self).__signature__}") from None
        bound.apply_defaults()
        self._config = dict(bound.arguments)
        for option in self._options:
            option.check(name, self._config[option.name])

    def get_config(self) -> dict:
        return dict(self._config)

    @classmethod
    def from_config(cls, config: dict):
        return cls(**config)

    def __getattr__(self, name: str):
        config = self.__dict__.get("_config", {})
        if name in config:
            return config[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        usual = {o.name: o.default for o in self._options}
        said = ", ".join(f"{k}={v!r}" for k, v in self._config.items() if k not in usual or usual[k] != v)
        return f"{type(self).__name__}({said})"


def make_classes(table: str, base: type, module: str, names: dict, options=options_of, extra=()) -> list[str]:
    """A class for each row of a table, put into `names`."""
    made = []
    for row in TABLES[table]:
        own = options(row)
        signature = signature_of(own, *extra)
        cls = type(row["class_name"], (base,), {
            "__doc__": describe(row, signature),
            "__module__": module,
            "__signature__": signature,
            "_row": row,
            "_options": own,
        })
        names[row["class_name"]] = cls
        made.append(row["class_name"])
    return made


def describe(row: dict, signature: inspect.Signature) -> str:
    return f"Keras's {row['class_name']}{signature}."
