"""tf.config: devices and threads."""
from . import _tensorflow_names, devices
from ._missing import missing
from ._modules import submodule
from .devices import LogicalDevice, PhysicalDevice, settings


def _known(what: str, device: PhysicalDevice) -> dict:
    for known, row in devices.usable():
        if known == device:
            return row
    raise ValueError(f"{what}: found {device!r}; expected one of list_physical_devices()")


def _of_type(found: list, device_type: str | None) -> list:
    return [d for d in found if device_type in (None, d.device_type)]


def list_physical_devices(device_type=None) -> list[PhysicalDevice]:
    """The devices that can train; device_type: "CPU" or "GPU"."""
    return _of_type([d for d, _ in devices.usable()], device_type)


def get_visible_devices(device_type=None) -> list[PhysicalDevice]:
    """The devices that set_visible_devices did not hide."""
    return [d for d in list_physical_devices(device_type) if d.name not in settings.hidden]


def set_visible_devices(devices, device_type=None) -> None:
    """Hide all GPUs but these: `device("/GPU:0")` of a hidden one is an error. The CPU stays."""
    shown = devices if isinstance(devices, (list, tuple)) and not isinstance(devices, PhysicalDevice) else [devices]
    for device in shown:
        _known("set_visible_devices", device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"set_visible_devices: found {device!r}; expected devices of type {device_type}")
    hidden = {d.name for d in list_physical_devices(device_type) if d not in shown}
    if device_type != "GPU" and any(d.name in hidden for d in list_physical_devices("CPU")):
        raise NotImplementedError("set_visible_devices: hiding the CPU is not in cornu; "
                                  "device('/GPU:0') says where to work")
    kept = {n for n in settings.hidden if device_type is not None and f":{device_type}:" not in n}
    settings.hidden = frozenset(hidden | kept)


def list_logical_devices(device_type=None) -> list[LogicalDevice]:
    """The visible devices, as device() takes them."""
    return [LogicalDevice(devices.logical_name(d), d.device_type) for d in get_visible_devices(device_type)]


def set_memory_growth(device, enable) -> None:
    """No effect: memory always grows as plans need it. Only True."""
    _known("set_memory_growth", device)
    if not enable:
        raise NotImplementedError("set_memory_growth: enable=False is not in cornu; memory is taken as plans need it")


def get_memory_growth(device) -> bool:
    """True: memory grows as plans need it."""
    _known("get_memory_growth", device)
    return True


def get_device_details(device) -> dict:
    """{"device_name", "compute_capability"} of a GPU, the latter where it is CUDA's; of the CPU {}."""
    row = _known("get_device_details", device)
    if device.device_type != "GPU":
        return {}
    details = {"device_name": row["description"].rsplit(",", 1)[0]}
    if row["capability"]:
        details["compute_capability"] = tuple(int(n) for n in row["capability"].split("."))
    return details


def set_soft_device_placement(enabled) -> None:
    """Only False: a missing device is always an error."""
    if enabled:
        raise NotImplementedError("set_soft_device_placement: True is not in cornu; "
                                  "a device that is not there is an error")


def get_soft_device_placement() -> bool:
    """False."""
    return False


def run_functions_eagerly(run_eagerly) -> None:
    """Only False: steps always run as plans."""
    if run_eagerly:
        raise NotImplementedError("run_functions_eagerly: True is not in cornu; steps run in C")


def functions_run_eagerly() -> bool:
    """False."""
    return False


def enable_op_determinism() -> None:
    """No effect: the same seeds always give the same bits."""


def set_exact_convolution(enabled) -> None:
    """True: no Winograd kernels, as the command line's --exact-conv: sums as a convolution is defined. Slower, and
    rounded as Keras does. A model's *_on_batch stay as they began."""
    if not isinstance(enabled, bool):
        raise ValueError(f"set_exact_convolution: found {enabled!r}; expected True or False")
    settings.exact_convolution = enabled


def get_exact_convolution() -> bool:
    """The last value of set_exact_convolution; initially False."""
    return settings.exact_convolution


def _threads(what: str, count) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"{what}: found {count!r}; expected a whole number of at least 0")
    return count


def _set_intra(num_threads) -> None:
    """Threads of a step; 0: one a core."""
    settings.threads = _threads("set_intra_op_parallelism_threads", num_threads)


def _get_intra() -> int:
    """What was asked for; 0: one a core."""
    return settings.threads


def _set_inter(num_threads) -> None:
    """Kept, and without effect: a step's operations run one after the other."""
    settings.inter_op_threads = _threads("set_inter_op_parallelism_threads", num_threads)


def _get_inter() -> int:
    """What was asked for."""
    return settings.inter_op_threads


threading = submodule(
    f"{__name__}.threading", "tf.config.threading: how many threads a step has.",
    set_intra_op_parallelism_threads=_set_intra, get_intra_op_parallelism_threads=_get_intra,
    set_inter_op_parallelism_threads=_set_inter, get_inter_op_parallelism_threads=_get_inter)

_EXPERIMENTAL = ("enable_op_determinism", "get_device_details", "get_memory_growth", "get_visible_devices",
                 "list_logical_devices", "list_physical_devices", "set_memory_growth", "set_visible_devices")
experimental = submodule(f"{__name__}.experimental", "tf.config.experimental.",
                         **{name: globals()[name] for name in _EXPERIMENTAL})
experimental.__getattr__ = missing("cornu.config.experimental", _EXPERIMENTAL, _tensorflow_names.config_experimental)

__all__ = ["LogicalDevice", "PhysicalDevice", "experimental", "functions_run_eagerly", "get_exact_convolution",
           "get_soft_device_placement", "get_visible_devices", "list_logical_devices", "list_physical_devices",
           "run_functions_eagerly", "set_exact_convolution", "set_soft_device_placement", "set_visible_devices",
           "threading"]
__getattr__ = missing("cornu.config", __all__, _tensorflow_names.config)
