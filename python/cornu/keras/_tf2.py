"""What TensorFlow 2.0 to 2.15 took besides Keras 3's arguments."""
import functools
from typing import Any, Callable

from .._tables import only

ANY = ("whatever it says",)  # for `takes`: it changes nothing


def takes(renamed: dict[str, str] = {}, order: tuple = (), **neutral: tuple) -> Callable:
    """For a function: arguments by tf.keras 2's names. renamed: its name of one, and the name here; neutral: what only it
    has, with the values that change nothing; order: its names in their order, for calls of more values than the
    function here takes by position."""

    def decorate(function: Callable) -> Callable:
        known = function.__code__.co_varnames[:function.__code__.co_argcount]

        @functools.wraps(function)
        def call(*args, **kwargs):
            if order and len(args) > len(known):
                kwargs = {**dict(zip(order, args)), **kwargs}
                args = ()
            for old, new in renamed.items():
                if old in kwargs:
                    if new in kwargs:
                        raise TypeError(f"{function.__name__}: found {old} and {new}, which are the same; expected one")
                    kwargs[new] = kwargs.pop(old)
            for name, choices in neutral.items():
                if name in kwargs:
                    value = kwargs.pop(name)
                    if choices is not ANY:
                        only(name, *choices).check(function.__name__, value)
            return function(*args, **kwargs)

        return call

    return decorate


def as_metrics(loss_weights: Any, metrics: Any) -> tuple:
    """(loss_weights, metrics) of compile: tf.keras 2 has them the other way round, so that names tell which is which."""
    first = loss_weights if isinstance(loss_weights, (list, tuple)) else [loss_weights]
    is_names = loss_weights is not None and not isinstance(loss_weights, dict) and all(
        isinstance(value, (str, dict)) or callable(value) or hasattr(value, "get_config") for value in first)
    return (metrics, loss_weights) if is_names else (loss_weights, metrics)
