"""keras.initializers: how weights start."""
from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, options_of, plain
from . import _keras_names
from ._tf2 import takes


class Initializer(Configured):
    """Base of all initializers."""


_made = make_classes("initializers", Initializer, __name__, globals(),
                     options=lambda row: options_of(row, without=("dtype",)))
for _row in TABLES["initializers"]:
    globals()[_row["name"]] = globals()[_row["class_name"]]
__all__ = [*_made, "Initializer", *(r["name"] for r in TABLES["initializers"]), "deserialize", "get", "serialize"]
_names = names_of("initializers", globals())


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None."""
    return _tables.get("initializer", identifier, Initializer, _names)


deserialize = _tables.deserializer("initializer", get)


@takes(use_legacy_format=(False, True))
def serialize(initializer: Initializer) -> dict:
    """{class_name, config} of an initializer."""
    return plain(initializer)


__getattr__ = missing("cornu.keras.initializers", __all__, _keras_names.initializers)
