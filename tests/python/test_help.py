"""Everything public says what it is."""
import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import cornu

MODULES = sorted(m.name for m in pkgutil.walk_packages(cornu.__path__, "cornu.")
                 if not any(part.startswith("_") for part in m.name.split(".")))


def described(name, thing):
    """Names without a docstring."""
    if isinstance(thing, ModuleType) or callable(thing):
        if not inspect.getdoc(thing):
            yield name
    if inspect.isclass(thing):
        for key, value in vars(thing).items():
            if not key.startswith("_") and (callable(value) or isinstance(value, (classmethod, property))):
                if not inspect.getdoc(value if isinstance(value, property) else getattr(thing, key)):
                    yield f"{name}.{key}"


@pytest.mark.parametrize("name", MODULES)
def test_modules_classes_functions_and_methods_have_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert not [lacking for public in getattr(module, "__all__", [])
                for lacking in described(f"{name}.{public}", getattr(module, public))]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_lists_is_there(name):
    module = importlib.import_module(name)
    assert len(set(getattr(module, "__all__", []))) == len(getattr(module, "__all__", []))
    assert all(hasattr(module, public) for public in getattr(module, "__all__", []))


def test_an_import_loads_neither_numpy_nor_keras_before_they_are_used():
    text = ("import sys, cornu as tf\n"
            "print([m for m in ('numpy', 'cornu.keras') if m in sys.modules], 'keras' in dir(tf))\n"
            "print(tf.keras.Sequential.__name__, tf.nn.relu.__name__)\n"
            "try: tf.kera\n"
            "except AttributeError as error: print(error)\n")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] True", "Sequential relu", "module 'cornu' has no attribute 'kera'"]
