"""keras.optimizers."""
import math
import re
import warnings
import weakref

from ... import _tables
from ..._missing import missing
from ..._tables import KWARGS, Configured, Option, make_classes, names_of, options_of, plain
from .. import _keras_names
from .._names import snake_case
from .._tf2 import takes
from . import schedules
from ._scalar import Rate, ScheduledRate, Steps
from ._state import states
from .schedules import LearningRateSchedule

_OLD = ("jit_compile", "is_legacy_optimizer")


class Optimizer(Configured):
    """Base of all optimizers. learning_rate: a number or a schedule.

    These are accepted with a DeprecationWarning: lr, Keras 2's name of the learning rate; its decay, which makes the rate a
    schedule (rate / (1 + decay * steps): InverseTimeDecay); and arguments without effect (jit_compile)."""

    def __init__(self, *args, **kwargs):
        owner = type(self).__name__
        if "lr" in kwargs:
            if "learning_rate" in kwargs or args:
                raise TypeError(f"{owner}: found lr and learning_rate, which are the same; expected one")
            warnings.warn(f"{owner}: lr is called learning_rate", DeprecationWarning, stacklevel=2)
            kwargs["learning_rate"] = kwargs.pop("lr")
        for row in self._row["options"] if self._row else ():
            if row["name"] in _OLD and row["name"] in kwargs:
                Option(row).check(owner, kwargs.pop(row["name"]))
                warnings.warn(f"{owner}: {row['name']} is of Keras 2 and without effect", DeprecationWarning,
                              stacklevel=2)
        decay = kwargs.pop("decay", None)
        self._excluded: tuple = ([], None)  # paths, a pattern
        self._trains = lambda: None  # the model that it was compiled with last
        super().__init__(*args, **kwargs)
        self.learning_rate = self._config["learning_rate"]
        if "exclude_layers" in self._config:
            self._config["exclude_layers"] = self._config["exclude_layers"] or []
        self._check_steps()
        if decay is not None:
            self._decay(decay)
            warnings.warn(f"{owner}: decay is of Keras 2; " + (
                f"the learning rate is {self._config['learning_rate']!r}" if decay else "0 is without effect"),
                          DeprecationWarning, stacklevel=2)

    def _check_steps(self) -> None:
        """What Keras's constructor refuses of the options that all optimizers have."""
        steps, each = self.gradient_accumulation_steps, self.ema_overwrite_frequency
        if steps and not steps >= 2:
            raise ValueError(f"`gradient_accumulation_steps` must be an integer >= 2. Received: gradient_accumulation_steps={steps}")
        if self.use_ema and not 0 <= self.ema_momentum <= 1:
            raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={self.ema_momentum}")
        if self.use_ema and each and (not isinstance(each, int) or each < 1):
            raise ValueError(f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={each}")
        clipped = {name: self._config[name] for name in ("clipnorm", "clipvalue", "global_clipnorm")}
        if sum(value is not None for value in clipped.values()) > 1:
            raise ValueError("Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
                             + ", ".join(f"{name}={value}" for name, value in clipped.items()))
        for name in ("gradient_accumulation_steps", "ema_overwrite_frequency"):
            self._config[name] = self._config[name] or None  # Keras takes 0 as none

    def _decay(self, decay) -> None:
        """As Keras 2 has it: of each step, from 0, the rate divided by 1 + decay * step."""
        owner, rate = type(self).__name__, self._config["learning_rate"]
        if isinstance(decay, (bool, str)) or not hasattr(decay, "__float__") or not 0 <= float(decay) < math.inf:
            raise ValueError(f"{owner}: decay: found {decay!r}; expected a number of at least 0")
        if not decay:
            return
        if isinstance(rate, LearningRateSchedule):
            raise ValueError(f"{owner}: decay: found {decay!r} beside a schedule as learning_rate; expected one of the two")
        self.learning_rate = schedules.InverseTimeDecay(float(rate), 1, float(decay))

    @classmethod
    def from_config(cls, config: dict):
        """An optimizer of get_config's dictionary, or of Keras's own; that of Keras 2 has its decay, too."""
        optimizer = super().from_config({key: value for key, value in config.items() if key != "decay"})
        if config.get("decay") is not None:
            optimizer._decay(config["decay"])
        return optimizer

    @property
    def iterations(self) -> Steps:
        """The number of updates that it has made: of steps or, with gradient_accumulation_steps, of so many steps."""
        return Steps(self, accumulates=True)

    @property
    def variables(self) -> list:
        """The number of steps, the learning rate unless it is a schedule and, of a model that was built, what it keeps of each
        weight; in the order of Keras's files."""
        model = self._trains()
        rate = [] if self._has_schedule() else [Rate(self)]
        return [Steps(self), *rate, *(states(self, model) if model is not None and model._model is not None else [])]

    def exclude_from_weight_decay(self, var_list=None, var_names=None) -> None:
        """Weights that do not decay: those of var_list, and those in whose names one of the regular expressions of var_names is
        found (a weight of a Sequential is called \"sequential/dense/bias:0\"). Before the first step."""
        model = self._trains()
        if model is not None and int(Steps(self)):
            raise NotImplementedError(f"{type(self).__name__}: exclude_from_weight_decay after the first step is not in cornu; call it "
                                      f"before compile()")
        self._excluded = [variable.path for variable in var_list or ()], re.compile("|".join(var_names)) if var_names else None
        if model is not None and model._handle is not None:
            model._handle.compile(model._section_text())

    def _undecayed(self, model, handle) -> list[str]:
        """The names of the model's weights that do not decay, as a compile section has them."""
        paths, pattern = self._excluded
        before = f"{model.name}/" if type(model).__name__ == "Sequential" else ""
        names = [name for name, *_ in handle.weights()] if paths or pattern else []
        own = {f"{model._paths[layer]}/{part}": path for layer in model._owners()
               for part, path in layer.__dict__.get("_shown_paths", {}).items()}
        shown = [(name, own.get(name, name)) for name in names]
        return [f"^{name}$" for name, path in shown
                if {name, path} & set(paths) or pattern and pattern.search(f"{before}{path}:0")]

    @property
    def name(self) -> str:
        """The name that it was given, or that of its class."""
        return self._config["name"] or snake_case(type(self).__name__)

    def get_config(self) -> dict:
        """The arguments that make such an optimizer."""
        return {**super().get_config(), "name": self.name}

    def finalize_variable_values(self, var_list) -> None:
        """With use_ema the weights become their averages, as fit does at its end."""
        model = self._trains()
        if self.use_ema and model is not None and int(Steps(self)):
            model._model.take_averages()

    def _has_schedule(self) -> bool:
        return isinstance(self._config["learning_rate"], LearningRateSchedule)

    @property
    def learning_rate(self) -> Rate:
        """The rate of the next step: a number. One that is set during training (also by assign) takes effect at the next step;
        that of a schedule cannot be set."""
        return ScheduledRate(self) if self._has_schedule() else Rate(self)

    @learning_rate.setter
    def learning_rate(self, rate) -> None:
        owner = type(self).__name__
        if isinstance(rate, ScheduledRate):
            rate = rate._schedule
        if isinstance(rate, dict):
            rate = schedules.deserialize(rate)
        if isinstance(rate, bool) or not isinstance(rate, LearningRateSchedule) and not hasattr(rate, "__float__"):
            raise TypeError(f"{owner}: learning_rate: found {rate!r}; expected a number or a schedule of "
                            f"keras.optimizers.schedules")
        if self._has_schedule() and not isinstance(rate, LearningRateSchedule):
            raise TypeError(f"{owner}: learning_rate: found {rate!r} for an optimizer that was made with a schedule, "
                            f"{self._config['learning_rate']!r}, as Keras refuses it, too; expected no change")
        if isinstance(rate, LearningRateSchedule) and self._trains() is not None and rate is not self._config["learning_rate"]:
            raise NotImplementedError(f"{owner}: learning_rate: found a schedule for a model that is compiled, which is not in "
                                      f"cornu; give an optimizer with the schedule to compile()")
        self._config["learning_rate"] = float(rate) if isinstance(rate, Rate) else rate

    lr = learning_rate  # as Keras 2 calls it


def _options(row):
    rate = Option({"name": "learning_rate", "type": "rate", "default": row["learning_rate"]})
    return [rate, *options_of(row, without=_OLD)]


__all__ = make_classes("optimizers", Optimizer, __name__, globals(), options=_options, extra=(KWARGS,))
_names = names_of("optimizers", globals())
__all__ += ["Optimizer", "deserialize", "get", "legacy", "schedules", "serialize"]


def get(identifier):
    """The object of a name, a configuration, a class or an object."""
    if identifier is None:
        raise ValueError("optimizer: found None; expected a name or an object of keras.optimizers")
    return _tables.get("optimizer", identifier, Optimizer, _names)


deserialize = _tables.deserializer("optimizer", get)


@takes(use_legacy_format=(False, True))
def serialize(optimizer: Optimizer) -> dict:
    """{class_name, config} of an optimizer."""
    return {**plain(optimizer), "registered_name": None}


from . import legacy  # noqa: E402  the same classes, which are made above

__getattr__ = missing("cornu.keras.optimizers", __all__, _keras_names.optimizers)
