"""What scripts ask TensorFlow for besides Keras: devices, threads, build, seeds."""
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import cornu as tf
from cornu import _cornu
from cornu.python.client import device_lib

GPU = {"name": "cuda:0", "description": "NVIDIA H100 80GB HBM3, 132 multiprocessors", "reason": "", "available": True,
       "libraries": "CUDA 12.4, cuBLASLt 12.4, cuDNN 9.1.0", "bus_id": "0000:01:00.0", "capability": "9.0", "gpu": True,
       "driver": "550.54", "memory": 80 << 30, "memory_free": 70 << 30, "threads": 0}
CPU = {**GPU, "gpu": False, "name": "cpu", "description": "a processor, 2 cores", "libraries": "", "bus_id": "", "capability": "",
       "driver": "", "memory": 8 << 30}
NONE = {**CPU, "name": "cuda", "available": False, "reason": "this build has no CUDA plug-in (libcornu-cuda.so); build"}


@pytest.fixture
def with_gpus(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, GPU, {**GPU, "name": "cuda:1"}, {**CPU, "name": "reference"}])


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, NONE])


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setattr(tf.devices, "settings", tf.devices._Settings())
    monkeypatch.setattr("cornu.config.settings", tf.devices.settings)
    monkeypatch.setattr("cornu.debugging.settings", tf.devices.settings)


def test_local_devices_are_shaped_as_tensorflows(with_gpus):
    cpu, gpu, _ = device_lib.list_local_devices()
    assert (cpu.name, cpu.device_type, cpu.memory_limit) == ("/device:CPU:0", "CPU", 8 << 30)
    assert gpu.name == "/device:GPU:0"
    assert gpu.physical_device_desc == ("device: 0, name: NVIDIA H100 80GB HBM3, pci bus id: 0000:01:00.0, "
                                        "compute capability: 9.0")
    assert gpu.incarnation == device_lib.list_local_devices()[1].incarnation != cpu.incarnation
    assert 'name: "/device:GPU:0"\ndevice_type: "GPU"\nmemory_limit: 85899345920' in repr(gpu)
    with pytest.raises(NotImplementedError, match="session_config"):
        device_lib.list_local_devices(object())


def test_this_machines_devices():
    (cpu, *_) = tf.config.list_physical_devices()
    assert cpu == ("/physical_device:CPU:0", "CPU") and device_lib.list_local_devices()[0].memory_limit > 1 << 20
    assert tf.test.is_built_with_cuda() == ("no CUDA plug-in" not in tf.versions())


def test_gpus_are_told(with_gpus):
    assert [d.name for d in tf.config.list_physical_devices("GPU")] == ["/physical_device:GPU:0",
                                                                        "/physical_device:GPU:1"]
    assert [d.name for d in tf.config.list_logical_devices()] == ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]
    assert tf.test.is_gpu_available() and tf.test.is_gpu_available(True, (9, 0))
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(10, 0))
    assert tf.test.gpu_device_name() == "/device:GPU:0" and tf.test.is_built_with_cuda()
    info = tf.sysconfig.get_build_info()
    assert info["cuda_version"] == "12.4" and info["cudnn_version"] == "9.1.0" and info["is_cuda_build"]
    assert info["cuda_compute_capabilities"] == ["sm_90"]
    gpu = tf.config.list_physical_devices("GPU")[0]
    assert tf.config.experimental.get_device_details(gpu) == {"device_name": "NVIDIA H100 80GB HBM3",
                                                              "compute_capability": (9, 0)}
    assert tf.device("/device:GPU:1").name == "cuda:1" and tf.device("GPU").name == "cuda:0"


OPENCL = {**GPU, "name": "opencl:0", "description": "gfx1030, 32 compute units", "libraries": "OpenCL 2.0, AMD",
          "bus_id": "", "capability": ""}


def test_gpus_may_be_opencls(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, NONE, {**OPENCL, "name": "opencl:0", "gpu": False},
                                                    {**OPENCL, "name": "opencl:1"}])
    (gpu,) = tf.config.list_physical_devices("GPU")
    assert gpu.name == "/physical_device:GPU:0" and len(tf.config.list_physical_devices("CPU")) == 1
    assert tf.device("/GPU:0").name == "opencl:1" and tf.device("opencl:0").name == "opencl:0"
    assert tf.config.experimental.get_device_details(gpu) == {"device_name": "gfx1030"}
    assert tf.test.is_gpu_available() and not tf.test.is_gpu_available(cuda_only=True)
    assert tf.sysconfig.get_build_info()["cuda_version"] == ""
    with pytest.raises(RuntimeError, match="'/GPU:1': not there: this build has no CUDA plug-in"):
        tf.device("/GPU:1")
    with pytest.raises(RuntimeError, match="'opencl:2': not there"):
        tf.device("opencl:2")


def test_a_gpu_that_both_drive_is_named_once(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, GPU, OPENCL])
    assert len(tf.config.list_physical_devices("GPU")) == 1 and tf.device("/GPU:0").name == "cuda:0"


def test_a_gpu_may_be_without_cudnn(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, {**GPU, "libraries": "CUDA 12.4, cuBLASLt 12.4"}])
    info = tf.sysconfig.get_build_info()
    assert info["cuda_version"] == "12.4" and info["cudnn_version"] == _cornu.built_cudnn


def test_no_gpu_is_told(without_gpu):
    assert tf.config.list_physical_devices("GPU") == [] and tf.test.gpu_device_name() == ""
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda()
    assert tf.sysconfig.get_build_info() == {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False,
                                             "cuda_version": "", "cudnn_version": ""}
    with pytest.raises(RuntimeError, match="not there: this build has no CUDA plug-in"):
        tf.device("/GPU:0")


def test_hidden_gpus_are_refused(with_gpus):
    cpu, first, second = tf.config.list_physical_devices()
    tf.config.set_visible_devices(second, "GPU")
    assert tf.config.get_visible_devices() == [cpu, second]
    assert [d.name for d in tf.config.list_logical_devices("GPU")] == ["/device:GPU:1"]
    with pytest.raises(RuntimeError, match="hidden"):
        tf.device("/GPU:0")
    tf.config.experimental.set_visible_devices([], "GPU")
    assert tf.config.get_visible_devices("GPU") == [] and tf.test.gpu_device_name() == ""
    tf.config.set_visible_devices([cpu, first, second])
    assert tf.config.get_visible_devices() == [cpu, first, second]
    with pytest.raises(NotImplementedError, match="hiding the CPU"):
        tf.config.set_visible_devices([first])
    with pytest.raises(ValueError, match="of type GPU"):
        tf.config.set_visible_devices(cpu, "GPU")
    with pytest.raises(ValueError, match="list_physical_devices"):
        tf.config.set_visible_devices("/GPU:0")


def test_memory_grows_and_nothing_else(with_gpus):
    for gpu in tf.config.experimental.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
        assert tf.config.experimental.get_memory_growth(gpu)
        with pytest.raises(NotImplementedError, match="enable=False"):
            tf.config.experimental.set_memory_growth(gpu, False)
    with pytest.raises(ValueError, match="list_physical_devices"):
        tf.config.experimental.set_memory_growth("GPU:0", True)


def test_threads():
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(3)
    assert tf.config.threading.get_intra_op_parallelism_threads() == tf.devices.current_placement()[1] == 2
    assert tf.config.threading.get_inter_op_parallelism_threads() == 3
    for wrong in (-1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="whole number"):
            tf.config.threading.set_intra_op_parallelism_threads(wrong)


def test_convolutions_as_they_are_defined():
    """Winograd rounds otherwise than a sum as it is defined."""
    assert tf.config.get_exact_convolution() is False
    net = tf.keras.Sequential([tf.keras.Input((16, 16, 32)), tf.keras.layers.Conv2D(64, 3)])
    net.set_weights([np.random.default_rng(1).normal(size=w.shape).astype("float32") for w in net.get_weights()])
    x = np.random.default_rng(2).random((8, 16, 16, 32), np.float32)
    by_winograd = net.predict(x, verbose=0)
    try:
        tf.config.set_exact_convolution(True)
        assert tf.devices.current_placement()[2] is tf.config.get_exact_convolution() is True
        exact = net.predict(x, verbose=0)
    finally:
        tf.config.set_exact_convolution(False)
    assert not np.array_equal(exact, by_winograd)
    assert np.allclose(exact, by_winograd, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="True or False"):
        tf.config.set_exact_convolution(1)


def test_placement_is_logged(model, samples, capsys):
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    with tf.device("/CPU:0"):
        model.predict(samples[0], verbose=0)
    assert capsys.readouterr().err == "cornu: work goes to cpu\n"
    tf.debugging.set_log_device_placement(False)
    model.predict(samples[0], verbose=0)
    assert capsys.readouterr().err == ""


def test_the_seed_is_followed_and_numpys_is_left_alone():
    drawn = []
    for _ in range(2):
        tf.random.set_seed(3)
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
        drawn.append(model.get_weights()[0])
    assert np.array_equal(*drawn)
    before = np.random.get_state()[1].copy()
    tf.random.set_seed(np.int64(3))
    assert np.array_equal(before, np.random.get_state()[1])
    first = random.random()
    tf.random.set_seed(3)
    assert random.random() == first
    with pytest.raises(ValueError, match="whole number"):
        tf.random.set_seed("x")


@pytest.mark.parametrize("name, use", [
    ("cornu.Variable", lambda: tf.Variable), ("cornu.Session", lambda: tf.Session),
    ("cornu.GradientTape", lambda: tf.GradientTape),
    ("cornu.config.set_logical_device_configuration", lambda: tf.config.set_logical_device_configuration),
    ("cornu.config.experimental.get_memory_info", lambda: tf.config.experimental.get_memory_info),
    ("cornu.random.gamma", lambda: tf.random.gamma), ("cornu.nn.conv2d", lambda: tf.nn.conv2d),
    ("cornu.test.TestCase", lambda: tf.test.TestCase), ("cornu.sysconfig.get_lib", lambda: tf.sysconfig.get_lib),
    ("cornu.debugging.check_numerics", lambda: tf.debugging.check_numerics),
    ("set_soft_device_placement", lambda: tf.config.set_soft_device_placement(True)),
    ("run_functions_eagerly", lambda: tf.config.run_functions_eagerly(True)),
])
def test_what_tensorflow_has_and_cornu_has_not_says_so(name, use):
    with pytest.raises(NotImplementedError, match=re.escape(name)):
        use()
    with pytest.raises(AttributeError):
        tf.nothing_of_the_kind


def test_settings_that_are_already_so_are_taken():
    tf.config.set_soft_device_placement(False)
    tf.config.run_functions_eagerly(False)
    tf.config.experimental.enable_op_determinism()
    assert not tf.config.get_soft_device_placement() and not tf.config.functions_run_eagerly()
    assert tf.version.VERSION == tf.__version__ == tf.keras.__version__ == tf.keras.version()
    tf.get_logger().setLevel("ERROR")
    assert tf.executing_eagerly() and tf.python.client.device_lib is device_lib
    assert tf.keras.activations.get(tf.nn.relu) is tf.keras.activations.relu and tf.keras.device is tf.device
    with pytest.raises(TypeError, match="a name"):
        tf.device(0)


def test_versions_are_those_of_the_build_where_no_gpu_is(monkeypatch):
    monkeypatch.setattr(_cornu, "devices", lambda: [CPU, {**NONE, "reason": "no CUDA driver"}])
    monkeypatch.setattr(_cornu, "built_cuda", "12.6")
    monkeypatch.setattr(_cornu, "built_cudnn", "9.3.0")
    info = tf.sysconfig.get_build_info()
    assert info["is_cuda_build"] and (info["cuda_version"], info["cudnn_version"]) == ("12.6", "9.3.0")


def test_an_import_loads_nothing_yet():
    """The library with all that it is linked with, and NumPy, take most of an import."""
    script = ("import sys; before = set(sys.modules); import cornu; new = set(sys.modules) - before; "
              "assert not new & {'cornu._cornu', 'cornu.keras', 'numpy', 'typing', 'enum', 're'}, new; "
              "assert cornu.python.client.device_lib.list_local_devices and cornu.__version__ in cornu.versions(); "
              "from cornu import config, device, keras; assert device is keras.device; "
              "assert {*cornu.__all__} <= {*dir(cornu)} and all(hasattr(cornu, name) for name in cornu.__all__)")
    subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {script}"], check=True)
