"""keras.losses."""
import inspect

from .._missing import missing
from .._tables import TABLES, Configured, make_classes, options_of
from . import _keras_names


class Loss(Configured):
    """Base of all losses."""


def _options(row):
    return [o for o in options_of(row) if o.name not in ("name", "fn", "dtype")]


_name = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)
_dtype = inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY, default=None)
__all__ = make_classes("losses", Loss, __name__, globals(), options=_options, extra=(_name, _dtype))
_names = {name: row for row in TABLES["losses"] for name in (row["name"], row["class_name"], row.get("other_name")) if name}


def get(identifier):
    if isinstance(identifier, str):
        if identifier not in _names:
            raise ValueError(f"loss {identifier!r}: unknown; cornu has {', '.join(r['name'] for r in TABLES['losses'])}")
        return globals()[_names[identifier]["class_name"]]()
    return identifier() if isinstance(identifier, type) else identifier

__getattr__ = missing("cornu.keras.losses", __all__, _keras_names.losses)
