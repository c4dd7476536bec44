"""What the library knows, by its own tables: rows, options, defaults. The classes are made of them."""
import inspect
import json
import textwrap
from typing import Any, Callable, Iterable, Sequence

from . import _cornu

TABLES: dict[str, list[dict]] = json.loads(_cornu.tables())

_EMPTY = inspect.Parameter.empty
KWARGS = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)


class Option:
    """One option of a row, as a parameter of Keras's constructor."""

    def __init__(self, row: dict):
        self.name: str = row["name"]
        self.type: str = row["type"]
        self.required: bool = row.get("required", False)
        self.choices: Sequence = row.get("choices", [])
        self.default: Any = row.get("default")
        if self.type in ("pair", "padding") and isinstance(self.default, int):
            self.default = (self.default, self.default)
        if self.type == "padding" and isinstance(self.default, list):
            self.default = tuple(map(tuple, self.default))
        if self.type == "neutral" and isinstance(self.default, str) and None in self.choices:
            self.default = None  # Keras's own: as its configuration says

    def parameter(self) -> inspect.Parameter:
        return inspect.Parameter(self.name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                 default=_EMPTY if self.required else self.default)

    def check(self, owner: str, value: Any) -> None:
        """Keras's own options are taken only where they change nothing."""
        if self.type == "dtype":
            check_dtype(owner, value)
        if self.type != "neutral" or any(_same(value, choice) for choice in self.choices):
            return
        raise NotImplementedError(
            f"{owner}: {self.name}={value!r} is not in cornu; it takes {' or '.join(map(repr, self.choices))}"
        )

    def describe(self) -> str:
        """A line of a class's docstring."""
        parts = [_KINDS.get(self.type, self.type)]
        if self.type == "choice":
            parts = [" or ".join(map(repr, self.choices))]
        parts.append("required" if self.required else f"default {self.default!r}")
        return f"{self.name}: {'; '.join(parts)}."


def only(name: str, *choices: Any) -> Option:
    """An argument of Keras's that may say nothing else."""
    return Option({"name": name, "type": "neutral", "choices": choices})


_KINDS = {
    "int": "a whole number",
    "pair": "a whole number, or two",
    "single": "a whole number",
    "axes": "a whole number, or two",
    "real": "a number",
    "bool": "True or False",
    "activation": "an activation, by name or from keras.activations",
    "initializer": "an initializer, by name or from keras.initializers",
    "constraint": "None, or a constraint, by name or from keras.constraints",
    "regularizer": "None, or a regularizer, by name or from keras.regularizers",
    "shape": "a tuple of whole numbers",
    "batch_shape": "a tuple: None, then whole numbers",
    "padding": "a whole number, two, or two pairs",
    "axis": "a whole number",
    "ints": "a whole number, or several",
    "widths": "a whole number, two, or pairs of them",
    "key": "what stands between brackets",
    "array": "a number or an array, in the place of an input",
    "numbers": "a list of numbers",
    "range": "a number, or two",
    "interval": "two numbers",
    "string": "a string",
    "patterns": "None, or a list of regular expressions",
    "elsewhere": "a string",
    "layer": "a layer, or a list of them",
    "rate": "a number, or a schedule of keras.optimizers.schedules",
    "dtype": "only None or 'float32'",
}
# Keras's own options that cornu takes.
_FOR_KERAS = {"neutral": "Only as Keras has it by default", "ignored": "Without effect"}


def _same(value: Any, choice: Any) -> bool:
    if isinstance(choice, bool) or isinstance(value, bool) or choice is None:
        return value is choice
    return isinstance(value, (int, float, str)) and value == choice


def check_dtype(owner: str, value: Any) -> None:
    """All is computed in float32."""
    if isinstance(value, dict):  # a policy, as Keras writes it
        value = value.get("config", {}).get("name")
    name = getattr(value, "name", None) or getattr(value, "__name__", value)
    if name not in (None, "float32"):
        raise NotImplementedError(f"{owner}: dtype={value!r} is not in cornu; it computes in float32")


def options_of(row: dict, without: Iterable[str] = ()) -> list[Option]:
    """What Keras's class takes today, in its order, but `without`."""
    return [Option(o) for o in row["options"] if not o["alias"] and o["name"] not in without]


def signature_of(options: list[Option], *extra: inspect.Parameter) -> inspect.Signature:
    """Parameters in Keras's order; those without a default first, as Python wants it."""
    parameters = [o.parameter() for o in options]
    first = [p for p in parameters if p.default is _EMPTY]
    rest = [p for p in parameters if p.default is not _EMPTY]
    return inspect.Signature(first + rest + list(extra))


# The modules of Keras's configurations, of classes that are found elsewhere here.
_MODULES = {"Functional": "keras.src.models.functional", "Sequential": "keras"}


def plain(value: Any) -> Any:
    """A value as JSON has it: objects become Keras's {class_name, config}, functions their names."""
    if hasattr(value, "get_config"):
        name = type(value).__name__
        module = getattr(value, "_keras_module", None) or _MODULES.get(name, type(value).__module__.removeprefix("cornu."))
        return {"module": module, "class_name": name, "config": plain(value.get_config())}
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
    """An object made of a row's options: what layers, optimizers, losses, metrics, initializers and schedules share.

    `_row` is the library's; `_options` are the parameters that come from it."""

    _row: dict | None = None
    _options: list[Option] = []
    _may_be_own = False  # classes of one's own may be derived
    __signature__: inspect.Signature

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "_row" not in cls.__dict__ and Configured not in cls.__bases__ and not cls._may_be_own:
            raise NotImplementedError(f"{cls.__name__}: a {cls.__bases__[0].__name__} of one's own is not in cornu; "
                                      f"it trains with those of its tables")

    def __init__(self, *args, **kwargs):
        if self._row is None:
            raise NotImplementedError(f"{type(self).__name__}: found the base class; expected one of its classes")
        self._config = self._bind(args, kwargs)

    @classmethod
    def _bind(cls, args: tuple, kwargs: dict) -> dict[str, Any]:
        """The arguments of a call by their names, with defaults; checked."""
        owner, signature = cls.__name__, cls.__signature__
        for alias in cls._row["options"]:
            meant = alias.get("stands_for")
            if alias["alias"] and alias["type"] == "ignored":
                kwargs.pop(alias["name"], None)
            if meant and alias["name"] in kwargs:
                if meant in kwargs:
                    raise TypeError(f"{owner}: found {alias['name']} and {meant}, which are the same; expected one")
                kwargs[meant] = kwargs.pop(alias["name"])
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{owner}: {error}; it takes {signature}") from None
        for name in bound.arguments.get(KWARGS.name, {}):
            raise TypeError(f"{owner}: got an unexpected keyword argument {name!r}; it takes {signature}")
        bound.apply_defaults()
        bound.arguments.pop(KWARGS.name, None)
        for option in cls._options:
            option.check(owner, bound.arguments[option.name])
        return dict(bound.arguments)

    def get_config(self) -> dict:
        """The arguments that make such an object."""
        return dict(self._config)

    @classmethod
    def from_config(cls, config: dict):
        """An object of get_config's dictionary, or of Keras's own, where more may stand than cornu takes."""
        others = {o["name"]: Option(o) for o in cls._row["options"] if not o["stands_for"]}
        taken = {}
        for key, value in config.items():
            if key in cls.__signature__.parameters or key not in others:
                taken[key] = value
            else:
                others[key].check(cls.__name__, value)
        return cls(**taken)

    def __getattr__(self, name: str):
        config = self.__dict__.get("_config", {})
        if name in config:
            return config[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        usual = {o.name: o.default for o in self._options}
        said = ", ".join(f"{k}={v!r}" for k, v in self._config.items() if k not in usual or usual[k] != v)
        return f"{type(self).__name__}({said})"


def make_classes(table: str, base: type, module: str, names: dict, options=options_of, extra=(), rows=None) -> list[str]:
    """A class for each row of a table, or of `rows` of it, that `names` has none of, put there under all its names, which
    it returns."""
    made = []
    for row in TABLES[table] if rows is None else rows:
        if row["class_name"] in names:
            continue
        own = options(row)
        cls = type(row["class_name"], (base,), {
            "__doc__": describe(row, own, base),
            "__module__": module,
            "__signature__": signature_of(own, *extra),
            "_row": row,
            "_options": own,
        })
        for name in (row["class_name"], *row.get("aliases", ())):
            names[name] = cls
            made.append(name)
    return made


def describe(row: dict, options: list[Option], base: type) -> str:
    """A class's docstring: the options, those that are there for Keras's sake together, and what its base says last."""
    lines = [f"Keras's {row['class_name']}" + (f", \"{row['name']}\"." if row.get("name") else "."), ""]
    lines += [o.describe() for o in options if o.type not in _FOR_KERAS]
    for kind, begin in _FOR_KERAS.items():
        given = ", ".join(f"{o.name}={o.default!r}" for o in options if o.type == kind)
        if given:
            lines.append(textwrap.fill(f"{begin}: {given}.", 100))
    lines += [f"\n{said}" for said in inspect.cleandoc(base.__doc__ or "").split("\n\n")[1:]]
    return "\n".join(lines).rstrip()


def get(kind: str, identifier: Any, base: type, names: dict[str, Any]) -> Any:
    """Keras's get(): the object of a name, a configuration, a class, or the object itself; None is None.

    `names`: each name that may be said, with its class; small letters say the same."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        name, config = identifier.get("class_name"), identifier.get("config") or {}
    elif isinstance(identifier, str):
        name, config = identifier, None
    elif isinstance(identifier, type) and issubclass(identifier, base):
        return identifier()
    elif isinstance(identifier, base):
        return identifier
    elif callable(identifier):
        raise NotImplementedError(f"{kind} {identifier!r}: one of one's own is not in cornu; "
                                  f"it trains with those of its tables")
    else:
        raise ValueError(f"{kind}: found {identifier!r}; expected a name, a configuration or an object of one")
    cls = names.get(name) or names.get(str(name).lower())
    if cls is None:
        known = sorted({c.__name__ for c in names.values()})
        raise ValueError(f"{kind} {name!r}: unknown; cornu has {', '.join(known)}")
    return cls() if config is None else cls.from_config(config)


def names_of(table: str, classes: dict[str, type]) -> dict[str, type]:
    """For `get`: every name of the rows, with its class."""
    found = {}
    for row in TABLES[table]:
        for name in (row["class_name"], row["class_name"].lower(), row["name"], row.get("other_name")):
            if name and row["class_name"] in classes:
                found[name] = classes[row["class_name"]]
    return found


def deserializer(kind: str, take: Callable[[Any], Any]) -> Callable:
    """Keras's deserialize of a module, by its get()."""

    from .keras._objects import CustomObjectScope
    from .keras._tf2 import takes

    @takes(renamed={"name": "config"}, use_legacy_format=(False, True))
    def deserialize(config, custom_objects=None):
        """The object of what serialize gave."""
        with CustomObjectScope(custom_objects):
            return take(config)

    return deserialize
