"""Where models train: tf.device, tf.config and their kin."""
import threading
from collections import namedtuple
from types import SimpleNamespace

from . import _cornu

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])

_here = threading.local()
_threads = 0


def _kind(name: str) -> str:
    return "GPU" if name.startswith("cuda") else "CPU"


def _usable() -> list[dict]:
    return [d for d in _cornu.devices() if d["available"] and d["name"] != "reference"]


def resolve(name: str) -> str:
    """cornu's name of a device that TensorFlow calls "/GPU:0", "/device:CPU:0" or "gpu"."""
    short = name.rsplit("/", 1)[-1].removeprefix("device:").lower()
    kind, _, number = short.partition(":")
    if kind in ("cpu", "reference") and number in ("", "0"):
        return kind
    if kind not in ("gpu", "cuda") or not (number or "0").isdigit():
        raise ValueError(f"device {name!r}: unknown; expected '/CPU:0', '/GPU:0', 'cuda:0' or 'reference'")
    wanted = f"cuda:{int(number or 0)}"
    reasons = [d["reason"] for d in _cornu.devices() if d["name"].startswith("cuda") and not d["available"]]
    if any(d["name"] == wanted for d in _usable()):
        return wanted
    raise RuntimeError(f"device {name!r}: not there{': ' + reasons[0] if reasons else ''}")


class device:
    """`with device("/GPU:0"):` models train, evaluate and predict there. A device that is not there is an error."""

    def __init__(self, name: str):
        self.name = resolve(name)

    def __enter__(self):
        stack = _here.__dict__.setdefault("stack", [])
        stack.append(self.name)
        return self

    def __exit__(self, *_):
        _here.stack.pop()


def current_device() -> str:
    stack = getattr(_here, "stack", None)
    return stack[-1] if stack else "cpu"


def current_threads() -> int:
    return _threads


def list_physical_devices(device_type=None) -> list[PhysicalDevice]:
    count: dict[str, int] = {}
    found = []
    for d in _usable():
        kind = _kind(d["name"])
        found.append(PhysicalDevice(f"/physical_device:{kind}:{count.setdefault(kind, 0)}", kind))
        count[kind] += 1
    return [d for d in found if device_type in (None, d.device_type)]


def set_memory_growth(device, enable) -> None:
    """Nothing to do: memory is taken as plans need it."""


def _set_threads(count: int) -> None:
    global _threads
    _threads = int(count)


config = SimpleNamespace(
    list_physical_devices=list_physical_devices,
    experimental=SimpleNamespace(list_physical_devices=list_physical_devices, set_memory_growth=set_memory_growth),
    threading=SimpleNamespace(
        set_intra_op_parallelism_threads=_set_threads,
        get_intra_op_parallelism_threads=current_threads,
        set_inter_op_parallelism_threads=lambda count: None,
        get_inter_op_parallelism_threads=lambda: 0,
    ),
)


def _gpus() -> list[dict]:
    return [d for d in _usable() if _kind(d["name"]) == "GPU"]


test = SimpleNamespace(
    is_built_with_cuda=lambda: any(d["name"].startswith("cuda") for d in _cornu.devices()),
    is_gpu_available=lambda *_, **__: bool(_gpus()),
    gpu_device_name=lambda: "/device:GPU:0" if _gpus() else "",
)

sysconfig = SimpleNamespace(get_build_info=lambda: {"is_cuda_build": test.is_built_with_cuda()})


def versions() -> str:
    """What bug reports want to know."""
    return _cornu.versions()
