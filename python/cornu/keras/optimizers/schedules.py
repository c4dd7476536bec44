"""keras.optimizers.schedules: learning rates by step."""
import json

from ... import _cornu, _tables
from ..._missing import missing
from ..._tables import Configured, make_classes, names_of, plain
from .. import _keras_names
from .._tf2 import takes
from ._scalar import Fixed


class LearningRateSchedule(Configured):
    """Base of all schedules. Called with the number of a step, from 0, it gives that step's rate."""

    def __call__(self, step) -> Fixed:
        return Fixed(_cornu.schedule_rate(json.dumps(plain(self)), int(step)))


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
