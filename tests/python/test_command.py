"""python -m cornu is the command line."""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cornu

COMMAND = [sys.executable, "-m", "cornu"]


def test_it_prints_and_ends_as_the_program_does():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split()[:2] == ["cornu", cornu.__version__]
    wrong = subprocess.run([*COMMAND, "no such command"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.startswith("cornu: ")


def test_ctrl_c_reaches_the_program(tmp_path):
    recipe = Path(__file__).resolve().parents[1] / "fixtures" / "tiny.yaml"
    process = subprocess.Popen([*COMMAND, "train", recipe, "--epochs", "1000000"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=tmp_path,  # where it leaves a model file
                               env={**os.environ, "PYTHONPATH": str(Path(cornu.__file__).resolve().parents[1])})
    seen = next(line for line in process.stdout if line.startswith("Epoch 3/"))
    process.send_signal(signal.SIGINT)
    output, error = process.communicate()
    assert seen and process.returncode == 130, output[-300:] + error
    assert "Traceback" not in error and [p.name for p in tmp_path.iterdir()] == ["tiny.safetensors"]


def test_a_reader_that_has_gone_ends_the_program_as_it_ends_others():
    closed, other = os.pipe()
    os.close(closed)
    with os.fdopen(other, "wb") as broken:
        done = subprocess.run([*COMMAND, "--help"], stdout=broken, stderr=subprocess.PIPE, text=True)
        program = [os.path.join(os.path.dirname(cornu.__file__), "bin", "cornu"), "--help"]
        direct = subprocess.run(program, stdout=broken, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (direct.returncode, direct.stderr)


@pytest.mark.parametrize("place", ["own", "system", "script", "none"])
def test_the_program_is_found_in_a_wheel_and_in_the_systems_folders(tmp_path, place):
    package = Path(cornu.__file__).parent
    copy = tmp_path / "lib" / "python3" / "dist-packages" / "cornu"
    copy.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(package / "__main__.py", copy)
    if place == "own":
        (copy / "bin").mkdir()
        os.symlink(package / "bin" / "cornu", copy / "bin" / "cornu")
    elif place == "system":
        os.symlink(package / "bin" / "cornu", tmp_path / "bin" / "cornu")
    elif place == "script":  # pip's, which would start this again
        (tmp_path / "bin" / "cornu").write_text("#!/bin/false\n")
    done = subprocess.run([sys.executable, copy / "__main__.py", "--version"], capture_output=True, text=True)
    if place in ("own", "system"):
        assert done.returncode == 0 and done.stdout.startswith("cornu ")
    else:
        assert done.returncode == 1 and "cannot start the command line: No such file" in done.stderr
