"""keras.datasets: each set's load_data(), by cornu's own finder: where it is on this machine, else downloaded and
checked."""
import numpy as np

from .. import _cornu
from .._missing import missing
from .._modules import submodule
from ._tf2 import ANY, takes


def _split(data, test: bool):
    count, shape, x, is_bytes, y, _, _ = data.view(test)
    if shape[-1:] == (1,):
        shape = shape[:-1]
    return np.frombuffer(x, np.uint8 if is_bytes else np.float32).reshape(count, *shape), np.frombuffer(y, np.int32)


def _load(name: str, column: bool):
    data = _cornu.data_open(name, None, True, None)
    pairs = []
    for test in (False, True):
        x, y = _split(data, test)
        pairs.append((x, y.astype(np.uint8).reshape(-1, 1) if column else y.astype(np.uint8)))
    return tuple(pairs)


def _module(name: str, load):
    return submodule(f"{__name__}.{name}", f"keras.datasets.{name}.", load_data=load)


def _grey(name: str):
    @takes(cache_dir=ANY)
    def load_data(path=None):
        """((x_train, y_train), (x_test, y_test)): uint8, images of (28, 28)."""
        return _load(name, False)

    return load_data


@takes(cache_dir=ANY)
def _cifar10():
    """((x_train, y_train), (x_test, y_test)): uint8, images of (32, 32, 3), classes of (1,)."""
    return _load("cifar10", True)


@takes(cache_dir=ANY)
def _cifar100(label_mode="fine"):
    """((x_train, y_train), (x_test, y_test)): uint8, images of (32, 32, 3), classes of (1,)."""
    if label_mode != "fine":
        raise NotImplementedError(f"cifar100: label_mode={label_mode!r} is not in cornu; it takes 'fine'")
    return _load("cifar100", True)


mnist = _module("mnist", _grey("mnist"))
fashion_mnist = _module("fashion_mnist", _grey("fashion_mnist"))
cifar10 = _module("cifar10", _cifar10)
cifar100 = _module("cifar100", _cifar100)
__all__ = ["cifar10", "cifar100", "fashion_mnist", "mnist"]
__getattr__ = missing("cornu.keras.datasets", __all__, ["boston_housing", "california_housing", "imdb", "reuters"])
