"""keras.initializers: how weights start."""
from .._missing import missing
from .._tables import TABLES, Configured, make_classes
from . import _keras_names


class Initializer(Configured):
    """Base of all initializers."""


__all__ = make_classes("initializers", Initializer, __name__, globals())
for _row in TABLES["initializers"]:
    globals()[_row["name"]] = globals()[_row["class_name"]]
__all__ += ["Initializer"] + [r["name"] for r in TABLES["initializers"]]


def get(identifier):
    """The object of a name, a config or an object."""
    if isinstance(identifier, dict):
        return get(identifier["class_name"]).from_config(identifier.get("config", {}))
    if not isinstance(identifier, str):
        return identifier() if isinstance(identifier, type) else identifier
    if identifier not in __all__:
        raise ValueError(f"initializer {identifier!r}: unknown; cornu has "
                         f"{', '.join(r['name'] for r in TABLES['initializers'])}")
    return globals()[identifier]()

__getattr__ = missing("cornu.keras.initializers", __all__, _keras_names.initializers)
