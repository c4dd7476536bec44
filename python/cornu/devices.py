"""Where models train: what tf.device, tf.config and their kin rest on."""
import os
import sys
import threading
from collections import namedtuple
from functools import cache
from typing import NamedTuple

from . import _cornu

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])

_here = threading.local()


class _Settings:
    """Of the process."""

    threads = 0
    inter_op_threads = 0
    exact_convolution = False
    hidden: frozenset[str] = frozenset()  # physical devices that set_visible_devices took away
    log_placement = False


settings = _Settings()


def usable(rows: list[dict] | None = None) -> list[tuple[PhysicalDevice, dict]]:
    """The devices that can train, in TensorFlow's names, each with what the library says of it. GPUs are CUDA's; where
    there are none, OpenCL's, which would name the same ones again."""
    rows = [row for row in (_cornu.devices() if rows is None else rows) if row["available"]]
    gpus = [row for row in rows if row["gpu"]]
    gpus = [row for row in gpus if row["name"].startswith("cuda")] or gpus
    cpus = [row for row in rows if row["name"] == "cpu"]
    return [(PhysicalDevice(f"/physical_device:{kind}:{number}", kind), row)
            for kind, of_kind in (("CPU", cpus), ("GPU", gpus)) for number, row in enumerate(of_kind)]


def resolve(name: str) -> str:
    """cornu's name of a device that TensorFlow calls "/GPU:0", "/device:CPU:0" or "gpu"."""
    if not isinstance(name, str):
        raise TypeError(f"device: found {name!r}; expected a name, such as '/CPU:0' or '/GPU:0'")
    short = name.rsplit("/", 1)[-1].lower().removeprefix("device:")
    kind, _, number = short.partition(":")
    if kind in ("cpu", "reference") and number in ("", "0"):
        return kind
    if kind not in ("gpu", "cuda", "opencl") or not (number or "0").isdigit():
        raise ValueError(f"device {name!r}: unknown; expected '/CPU:0', '/GPU:0', 'cuda:0', 'opencl:0' or 'reference'")
    number, rows = int(number or 0), _cornu.devices()
    there = usable(rows)
    if kind == "gpu":
        kind, names = "cuda", [row["name"] for device_, row in there if device_.device_type == "GPU"]
        wanted = names[number] if number < len(names) else None
    else:
        wanted = next((row["name"] for row in rows if row["available"] and row["name"] == f"{kind}:{number}"), None)
    if any(row["name"] == wanted and device_.name in settings.hidden for device_, row in there):
        raise RuntimeError(f"device {name!r}: hidden by set_visible_devices")
    if wanted:
        return wanted
    reasons = [row["reason"] for row in rows if row["name"].partition(":")[0] == kind and not row["available"]]
    raise RuntimeError(f"device {name!r}: not there{': ' + reasons[0] if reasons else ''}")


class device:
    """`with device("/GPU:0"):` models train, evaluate and predict there. A missing device is an error."""

    def __init__(self, name: str):
        self.name = resolve(name)

    def __enter__(self):
        stack = _here.__dict__.setdefault("stack", [])
        stack.append(self.name)
        return self

    def __exit__(self, *_):
        _here.stack.pop()


def current_device() -> str:
    """The device of work that begins now."""
    stack = getattr(_here, "stack", None)
    name = stack[-1] if stack else "cpu"
    if settings.log_placement:
        print(f"cornu: work goes to {name}", file=sys.stderr)
    return name


class Placement(NamedTuple):
    """Where to run, in the library's words."""

    device: str
    threads: int  # 0: the library chooses
    exact_convolution: bool  # convolutions are summed up as they are defined


def current_placement() -> Placement:
    """current_device(), and what config.threading and set_exact_convolution asked for."""
    return Placement(current_device(), settings.threads, settings.exact_convolution)


def where() -> dict:
    """current_placement() as the keywords of the library's calls."""
    return current_placement()._asdict()


def logical_name(device_: PhysicalDevice) -> str:
    """"/device:CPU:0"."""
    return "/device:" + device_.name.removeprefix("/physical_device:")


def is_built_with_cuda() -> bool:
    """Is the CUDA plug-in there, whether or not a GPU is?"""
    return not any("no CUDA plug-in" in d["reason"] for d in _cornu.devices())


@cache
def incarnation(name: str) -> int:
    """A number of this process for a device."""
    return int.from_bytes(os.urandom(7), "little")


def versions() -> str:
    """For bug reports: versions of cornu, its libraries, the system and the devices."""
    return _cornu.versions()
