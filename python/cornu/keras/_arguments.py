"""Arguments of models' methods: numbers that must be whole, what is not in cornu, what tf.keras 2 had."""
from typing import Any

import numpy as np

from .. import _cornu
from .._tables import plain


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


# fit's options beside Keras's arguments: the library's others, each (name, type, is it a key of the fit section?).
_OWN = [row for row in _cornu.fit_options() if row[0] not in ("epochs", "batch_size", "steps_per_epoch", "seed")]


def own_options(given: dict) -> tuple[dict, dict]:
    """Of cornu alone: what the fit section takes, and what the library takes beside it."""
    section, besides = {}, {}
    for name, kind, is_key in _OWN:
        value = given.pop(name, None)
        if kind == "INT":
            value = whole("fit", name, value)
        elif kind == "FLAG" and value is not None:
            value = bool(value)
        (section if is_key else besides)[name] = plain(value)
    return section, besides


def _class_names(x) -> list[str] | None:
    """Of pictures' iterators and data sets, in the order of their numbers."""
    indices = getattr(x, "class_indices", None)
    if indices:
        return sorted(indices, key=indices.get)
    names = getattr(x, "class_names", None)
    return list(names) if names else None


def class_weights(weights, x) -> dict:
    """As a fit section has them. Classes by their numbers, or by their names where the data x has names."""
    if not isinstance(weights, dict):
        raise TypeError(f"fit: class_weight: found {type(weights).__name__}; expected a dict of weights by class number")
    names = _class_names(x) or []
    unknown = [key for key in weights if isinstance(key, str) and not key.isdigit() and key not in names]
    if unknown:
        raise ValueError(f"fit: class_weight: found {', '.join(map(repr, unknown))}; expected "
                         f"{'one of ' + ', '.join(map(repr, names)) if names else 'class numbers, as the data has no class names'}")
    try:
        numbered = {str(names.index(key) if key in names else int(key)): float(weight) for key, weight in weights.items()}
    except (TypeError, ValueError):
        raise ValueError(f"fit: class_weight: found {weights!r}; expected numbers by class number or name") from None
    if len(numbered) < len(weights):
        raise ValueError(f"fit: class_weight: found {weights!r}, which says one class twice; expected each once")
    return numbered
