"""Names that Keras has and cornu has not: one clear error, at the first use."""
from collections.abc import Callable, Iterable, Mapping


def missing(module: str, there: Iterable[str], keras_names: Iterable[str],
            instead: Mapping[str, str] = {}) -> Callable[[str], None]:
    """A module's __getattr__. `instead`: of a name, what serves in its place."""
    known, keras = sorted(there), frozenset(keras_names)

    def getattr_(name: str):
        if name in instead or name in keras:
            hint = instead.get(name) or f"there is {', '.join(known)}"
            raise NotImplementedError(f"{module}.{name} is not in cornu; {hint}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_
