"""Several processes, by a launcher of MPI where one is installed."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cornu
from cornu import keras

SCRIPT = """
import sys
import numpy as np
from cornu import keras

keras.distribution.initialize()
keras.utils.set_random_seed(5)
generator = np.random.default_rng(1)
x, y = generator.random((70, 6), np.float32), generator.integers(0, 3, 70)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.3),
                          keras.layers.Dense(3, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=16, epochs=3, verbose=2, shards=4, shard_optimizer=True)
weights = model.get_weights()

left, right = keras.Input((6,)), keras.Input((2,))
shared = keras.layers.Dense(3, activation="tanh")
both = keras.layers.Multiply()([shared(left), keras.layers.BatchNormalization()(keras.layers.Dense(3)(right))])
ends = [keras.layers.Dense(3, activation="softmax")(both), keras.layers.Dense(2)(keras.layers.Dropout(0.2)(both))]
towers = keras.Model([left, right], ends)
towers.compile("adam", ["sparse_categorical_crossentropy", "mse"], loss_weights=[1, 0.5])
for divides in (False, True):
    of_towers = towers.fit([x, x[:, :2]], [y, x[:, 2:4]], batch_size=16, epochs=2, verbose=0, shards=4, shard_optimizer=divides)
    weights += towers.get_weights() + list(map(np.array, of_towers.history.values()))
if keras.distribution.process_index() == 0:
    print("processes", keras.distribution.process_count())
    np.save(sys.argv[1], np.concatenate([w.ravel() for w in weights] + [history.history["loss"]]))
"""
LAUNCHERS = {name: f"mpirun.{name}" for name in ("openmpi", "mpich")}


def plugin_of(mpi):
    """In an installed package, or where it was built."""
    package = Path(cornu.__file__).resolve().parent
    return next((f for f in (package / "lib" / f"libcornu-mpi-{mpi}.so", package.parents[1] / f"libcornu-mpi-{mpi}.so")
                 if f.exists()), None)


def run(command, tmp_path, plugin=""):
    (tmp_path / "train.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(cornu.__file__).resolve().parents[1]), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "CORNU_MPI_PLUGIN": str(plugin)}
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_two_processes_train_one_model(mpi, tmp_path):
    launcher = shutil.which(LAUNCHERS[mpi])
    plugin = plugin_of(mpi)
    if not launcher or not plugin:
        pytest.skip(f"no {LAUNCHERS[mpi]}, or no plug-in for it")
    many = ["--oversubscribe"] if mpi == "openmpi" else []
    alone = run([sys.executable, "train.py", "alone.npy"], tmp_path)
    both = run([launcher, *many, "-n", "2", sys.executable, "train.py", "both.npy"], tmp_path, plugin)
    assert alone.returncode == 0 and both.returncode == 0, alone.stderr + both.stderr
    assert "processes 2" in both.stdout and both.stdout.count("Epoch 1/3") == 1, both.stdout
    assert (tmp_path / "alone.npy").read_bytes() == (tmp_path / "both.npy").read_bytes()


def test_alone_there_is_one_process():
    assert (keras.distribution.process_index(), keras.distribution.process_count()) == (0, 1)
    keras.distribution.initialize()
    assert (keras.distribution.process_index(), keras.distribution.process_count()) == (0, 1)
    with pytest.raises(ValueError, match="num_processes: found 3; the launcher has 1"):
        keras.distribution.initialize(num_processes=3)
    with pytest.raises(NotImplementedError, match="job_addresses"):
        keras.distribution.initialize(job_addresses="a:1,b:1")
