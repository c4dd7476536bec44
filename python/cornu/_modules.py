"""Modules that have no file of their own."""
import sys
from types import ModuleType


def submodule(name: str, doc: str, **names) -> ModuleType:
    """A module of these names, which `import` finds."""
    module = ModuleType(name, doc)
    module.__dict__.update(names)
    sys.modules[name] = module
    return module
