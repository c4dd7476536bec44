"""Automatic names of layers, models and tensors."""
import contextlib
import functools
import re

_counts: dict[str, int] = {}


def count_name(base: str) -> int:
    """How often it was asked for before."""
    _counts[base] = _counts.get(base, -1) + 1
    return _counts[base]


def automatic_name(base: str) -> str:
    """dense, dense_1, ... over the whole process, as Keras counts."""
    number = count_name(base)
    return f"{base}_{number}" if number else base


@functools.lru_cache
def snake_case(name: str) -> str:
    """ResNet50Head: res_net50_head. Once a class: CPython 3.11 loses a little memory by each such substitution."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


@contextlib.contextmanager
def kept_names():
    """What is named within it takes no numbers from what comes after."""
    before = dict(_counts)
    try:
        yield
    finally:
        _counts.clear()
        _counts.update(before)


def forget_names() -> None:
    """Automatic names begin again."""
    _counts.clear()
