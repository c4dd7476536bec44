"""Names that Keras has and cornu has not: one clear error, at the first use."""
from typing import Callable, Iterable


def missing(module: str, there: Iterable[str], keras_names: Iterable[str]) -> Callable[[str], None]:
    """A module's __getattr__."""
    known, keras = sorted(there), frozenset(keras_names)

    def getattr_(name: str):
        if name in keras:
            raise NotImplementedError(f"{module}.{name} is not in cornu; there is {', '.join(known)}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_
