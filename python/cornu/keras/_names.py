"""Automatic names of layers, models and tensors."""
_counts: dict[str, int] = {}


def count_name(base: str) -> int:
    """How often it was asked for before."""
    _counts[base] = _counts.get(base, -1) + 1
    return _counts[base]


def automatic_name(base: str) -> str:
    """dense, dense_1, ... over the whole process, as Keras counts."""
    number = count_name(base)
    return f"{base}_{number}" if number else base


def forget_names() -> None:
    """Automatic names begin again."""
    _counts.clear()
