"""Arguments of models' methods: numbers that must be whole, what is not in cornu, what tf.keras 2 had."""
from typing import Any

import numpy as np


def not_here(what: str, value: Any, instead: str) -> None:
    if value is not None:
        raise NotImplementedError(f"{what} is not in cornu yet; {instead}")


def whole(what: str, name: str, value, least: int = 1) -> int | None:
    """A whole number, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer)) or value != int(value) or value < least:
        raise ValueError(f"{what}: {name}: found {value!r}; expected a whole number of at least {least}")
    return int(value)


def older(what: str, given: dict) -> dict:
    """How batches are fetched, as fit, evaluate and predict of tf.keras 2 take it."""
    if given.pop("use_multiprocessing", False):
        raise NotImplementedError(f"{what}: use_multiprocessing is not in cornu; workers= are threads")
    fetch = {"workers": whole(what, "workers", given.pop("workers", None), 0),
             "ahead": whole(what, "max_queue_size", given.pop("max_queue_size", None))}
    if given:
        raise TypeError(f"{what}: got an unexpected keyword argument {next(iter(given))!r}")
    return fetch


def class_weights(weights) -> dict:
    """As a fit section has them."""
    if not isinstance(weights, dict):
        raise TypeError(f"fit: class_weight: found {type(weights).__name__}; expected a dict of weights by class number")
    try:
        return {str(int(number)): float(weight) for number, weight in weights.items()}
    except (TypeError, ValueError):
        raise ValueError(f"fit: class_weight: found {weights!r}; expected numbers by class number") from None
