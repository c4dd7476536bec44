"""Objects of one's own by their names: what configurations and files mean by them."""
import contextvars
from typing import Any, Callable

_registered: dict[str, Any] = {}  # by registered name, PACKAGE>NAME
_names: dict[Any, str] = {}
_scopes: contextvars.ContextVar[dict] = contextvars.ContextVar("custom_objects", default={})


def register_keras_serializable(package="Custom", name=None) -> Callable:
    """A decorator: configurations know the class or function as PACKAGE>NAME from now on."""

    def register(thing):
        if isinstance(thing, type) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        own = f"{package}>{name or thing.__name__}"
        _registered[own], _names[thing] = thing, own
        return thing

    return register


def name_of_class(cls: type) -> str:
    """The name by which configurations know it, registered or not."""
    return _names.get(cls, cls.__name__)


def get_registered_name(obj) -> str:
    """PACKAGE>NAME, or the name of what is not registered."""
    return _names.get(obj, obj.__name__)


def get_registered_object(name, custom_objects=None, module_objects=None):
    """The class or function of a name; None where there is none."""
    for known in (_scopes.get(), custom_objects or {}, _registered, module_objects or {}):
        if name in known:
            return known[name]
    return None


def get_custom_objects() -> dict:
    """What is registered, by its names; more may be added."""
    return _registered


class CustomObjectScope:
    """Within it, configurations may mean these, by their names."""

    def __init__(self, custom_objects):
        self.custom_objects = dict(custom_objects or {})

    def __enter__(self):
        self._token = _scopes.set({**_scopes.get(), **self.custom_objects})
        return self

    def __exit__(self, *_):
        _scopes.reset(self._token)


custom_object_scope = CustomObjectScope


def found(identifier, tables: dict):
    """What is one's own: a function, or what a name or a configuration means that is in no table; else None."""
    if isinstance(identifier, dict) and identifier.get("class_name") == "function":
        return own_object(identifier["config"], identifier["config"])
    if isinstance(identifier, dict) and identifier.get("class_name") not in tables:
        cls = own_object(identifier.get("class_name"), identifier.get("registered_name"))
        return cls and cls.from_config(identifier.get("config") or {})
    if isinstance(identifier, str) and identifier not in tables:
        thing = own_object(identifier)
        return thing() if isinstance(thing, type) else thing
    return identifier if callable(identifier) and not isinstance(identifier, type) and not hasattr(identifier, "_row") else None


def own_object(name: str, registered_name: str | None = None):
    """The class or function that a configuration means; None where it is none of one's own."""
    for known in (registered_name, name):
        found = known and get_registered_object(known)
        if found is not None:
            return found
    return next((thing for own, thing in _registered.items() if own.rpartition(">")[2] == name), None)
