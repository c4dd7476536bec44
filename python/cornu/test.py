"""tf.test: is there a GPU?"""
from . import _tensorflow_names
from ._missing import missing
from .config import list_logical_devices, list_physical_devices, get_device_details
from .devices import is_built_with_cuda


def is_built_with_gpu_support() -> bool:
    """Is the CUDA plug-in there, whether or not a GPU is?"""
    return is_built_with_cuda()


def is_built_with_rocm() -> bool:
    """False."""
    return False


def is_built_with_xla() -> bool:
    """False."""
    return False


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None) -> bool:
    """Is there a GPU that can train, if it is CUDA's of at least that compute capability, (major, minor)?"""
    least = tuple(min_cuda_compute_capability or (0, 0))
    other = None if cuda_only else least  # what one of OpenCL counts as
    found = [get_device_details(d).get("compute_capability", other) for d in list_physical_devices("GPU")]
    return any(capability and capability >= least for capability in found)


def gpu_device_name() -> str:
    """"/device:GPU:0", or "" where there is no GPU."""
    gpus = list_logical_devices("GPU")
    return gpus[0].name if gpus else ""


__all__ = ["gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm",
           "is_built_with_xla", "is_gpu_available"]
__getattr__ = missing("cornu.test", __all__, _tensorflow_names.test)
