"""The five posts' scripts as their readers type them, for TensorFlow 2: only the import is exchanged. A machine without a
GPU, generated samples."""
import os
import subprocess
import sys
from pathlib import Path

import exchange
import pytest
from test_examples import data  # noqa: F401  the fixture

import cornu

SCRIPTS = sorted((Path(__file__).parent / "posts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_a_post_runs(script, data, tmp_path):  # noqa: F811
    (tmp_path / "script.py").write_text(exchange.for_cornu(script.read_text()))
    (tmp_path / "photos").symlink_to(data / "photos")
    environment = {**os.environ, "CORNU_DATA": str(data), "PYTHONPATH": str(Path(cornu.__file__).parents[1])}
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loss: " in done.stdout


def test_there_are_five():
    assert len(SCRIPTS) == 5 and all("cornu" not in script.read_text() for script in SCRIPTS)
