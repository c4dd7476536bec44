"""keras.losses."""
from .. import _tables
from .._missing import missing
from .._tables import Configured, make_classes, names_of, options_of, plain
from . import _keras_names


class Loss(Configured):
    """Base of all losses."""


__all__ = make_classes("losses", Loss, __name__, globals(), options=lambda row: options_of(row, without=("fn",)))
_names = names_of("losses", globals())
__all__ += ["Loss", "deserialize", "get", "serialize"]


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None."""
    return _tables.get("loss", identifier, Loss, _names)


deserialize = get


def serialize(loss: Loss) -> dict:
    """{class_name, config} of a loss."""
    return plain(loss)


__getattr__ = missing("cornu.keras.losses", __all__, _keras_names.losses)
