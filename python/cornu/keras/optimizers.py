"""keras.optimizers, and keras.optimizers.schedules."""
import inspect
import sys
from types import ModuleType

from .._missing import missing
from .._tables import TABLES, Configured, Option, make_classes, options_of
from . import _keras_names


class LearningRateSchedule(Configured):
    """Base of all schedules."""


schedules = ModuleType(__name__ + ".schedules", "keras.optimizers.schedules.")
schedules.LearningRateSchedule = LearningRateSchedule
make_classes("schedules", LearningRateSchedule, schedules.__name__, schedules.__dict__)
del schedules.Constant
sys.modules[schedules.__name__] = schedules


class Optimizer(Configured):
    """Base of all optimizers. learning_rate: a number or a schedule."""


def _options(row):
    rate = Option({"name": "learning_rate", "type": "elsewhere", "required": False, "choices": [],
                   "default": row["learning_rate"]})
    return [rate] + [o for o in options_of(row) if o.name not in ("name", "decay", "jit_compile", "is_legacy_optimizer")]


_name = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
__all__ = make_classes("optimizers", Optimizer, __name__, globals(), options=_options, extra=(_name,))
__all__ += ["Optimizer", "schedules"]


def get(identifier):
    if isinstance(identifier, str):
        for row in TABLES["optimizers"]:
            if identifier.lower() in (row["name"], row["class_name"].lower()):
                return globals()[row["class_name"]]()
        raise ValueError(f"optimizer {identifier!r}: unknown; cornu has "
                         f"{', '.join(r['class_name'] for r in TABLES['optimizers'])}")
    if isinstance(identifier, dict):
        return globals()[identifier["class_name"]].from_config(identifier.get("config", {}))
    return identifier() if isinstance(identifier, type) else identifier

__getattr__ = missing("cornu.keras.optimizers", __all__, _keras_names.optimizers)
