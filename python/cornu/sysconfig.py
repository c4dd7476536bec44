"""tf.sysconfig: how this build was made."""
from . import _cornu, _tensorflow_names, devices
from ._missing import missing


def get_build_info() -> dict:
    """{"is_cuda_build", ...}, "cuda_version" and "cudnn_version": of what is in use where CUDA can use a GPU, with
    "cuda_compute_capabilities", else as built; "" where the build has no CUDA plug-in."""
    built = devices.is_built_with_cuda()
    info = {"is_cuda_build": built, "is_rocm_build": False, "is_tensorrt_build": False,
            "cuda_version": _cornu.built_cuda if built else "", "cudnn_version": _cornu.built_cudnn if built else ""}
    gpus = [row for _, row in devices.usable() if row["capability"]]
    if gpus:
        versions = dict(part.split() for part in gpus[0]["libraries"].split(", "))
        info["cuda_version"] = versions["CUDA"]
        if "cuDNN" in versions:
            info["cudnn_version"] = versions["cuDNN"]
        info["cuda_compute_capabilities"] = sorted({"sm_" + row["capability"].replace(".", "") for row in gpus})
    return info


__all__ = ["get_build_info"]
__getattr__ = missing("cornu.sysconfig", __all__, _tensorflow_names.sysconfig)
