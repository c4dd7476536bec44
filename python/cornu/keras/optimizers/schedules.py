"""keras.optimizers.schedules: learning rates by step."""
from ... import _tables
from ..._missing import missing
from ..._tables import Configured, make_classes, names_of, plain
from .. import _keras_names
from .._tf2 import takes


class LearningRateSchedule(Configured):
    """Base of all schedules."""


__all__ = make_classes("schedules", LearningRateSchedule, __name__, globals())
_names = names_of("schedules", globals())
# Keras has no class for it: a number says the same.
__all__.remove("Constant")
del globals()["Constant"]
__all__ += ["LearningRateSchedule", "deserialize", "serialize"]


deserialize = _tables.deserializer(
    "schedule", lambda config: _tables.get("schedule", config, LearningRateSchedule, _names))


@takes(use_legacy_format=(False, True))
def serialize(learning_rate_schedule: LearningRateSchedule) -> dict:
    """{class_name, config} of a schedule."""
    return plain(learning_rate_schedule)


__getattr__ = missing("cornu.keras.optimizers.schedules", __all__, _keras_names.schedules)
