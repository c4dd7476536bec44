"""python -m cornu is the command line."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import cornu

COMMAND = [sys.executable, "-m", "cornu"]


def test_it_prints_and_ends_as_the_program_does():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split()[:2] == ["cornu", cornu.__version__]
    wrong = subprocess.run([*COMMAND, "no such command"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.startswith("cornu: ")


def test_ctrl_c_reaches_the_program():
    recipe = Path(__file__).parents[1] / "fixtures" / "tiny.yaml"
    process = subprocess.Popen([*COMMAND, "train", recipe, "--epochs", "1000000"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    seen = next(line for line in process.stdout if line.startswith("Epoch 3/"))
    process.send_signal(signal.SIGINT)
    output, error = process.communicate()
    assert seen and process.returncode == 130, output[-300:] + error
    assert "Traceback" not in error


def test_a_reader_that_has_gone_ends_the_program_as_it_ends_others():
    closed, other = os.pipe()
    os.close(closed)
    with os.fdopen(other, "wb") as broken:
        done = subprocess.run([*COMMAND, "--help"], stdout=broken, stderr=subprocess.PIPE, text=True)
        program = [os.path.join(os.path.dirname(cornu.__file__), "bin", "cornu"), "--help"]
        direct = subprocess.run(program, stdout=broken, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (direct.returncode, direct.stderr)
