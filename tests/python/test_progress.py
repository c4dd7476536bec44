"""Progress lines: in a terminal, in Jupyter, in a pipe."""
import io
import os
import pty
import re
import subprocess
import sys

import pytest

from cornu import keras
from cornu.keras._progress import Progress

SCRIPT = """
import numpy as np
from cornu import keras
x = np.zeros((6000, 4), "f"); y = np.arange(6000) % 3
m = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(3, "softmax")])
m.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(x, y, epochs=2, batch_size=2, validation_split=0.5, verbose={verbose})
m.evaluate(x, y, batch_size=1000, verbose={verbose})
"""
TIME = r"\d+s \d+[mu]?s/step"
NUMBERS = r"accuracy: 0\.\d{4} - loss: \d\.\d{4}"


def rendered(text):
    """What stands on a terminal at last."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        cells = []
        for part in line.split("\r"):
            part = re.sub(r"\x1b\[\d+m", "", part)
            cells = list(part) + cells[len(part):]
        lines.append("".join(cells).rstrip())
    return lines


@pytest.fixture
def terminal_of():
    def run(verbose):
        try:
            leader, follower = pty.openpty()
        except OSError as error:  # no /dev/pts, as in some chroots
            pytest.skip(f"no terminal can be opened here: {error}")
        with subprocess.Popen([sys.executable, "-c", SCRIPT.format(verbose=verbose)], stdout=follower) as process:
            os.close(follower)
            text = b""
            while True:
                try:
                    read = os.read(leader, 65536)
                except OSError:  # the other side is closed
                    read = b""
                if not read:
                    break
                text += read
        os.close(leader)
        assert process.returncode == 0
        return text.decode()

    return run


def pipe_of(verbose):
    return subprocess.run([sys.executable, "-c", SCRIPT.format(verbose=verbose)], capture_output=True, text=True,
                          check=True).stdout


def expect_lines(lines, bar, times):
    expected = ["Epoch 1/2", rf"1500/1500{bar} {times} - {NUMBERS} - val_{NUMBERS.replace('- loss', '- val_loss')}",
                "Epoch 2/2", rf"1500/1500{bar} {times} - {NUMBERS} - val_{NUMBERS.replace('- loss', '- val_loss')}",
                rf"6/6{bar} {times} - {NUMBERS}", ""]
    assert len(lines) == len(expected), lines
    for line, pattern in zip(lines, expected):
        assert re.fullmatch(pattern, line), line


def test_a_terminal_shows_one_line_an_epoch_which_moves(terminal_of):
    text = terminal_of(1)
    expect_lines(rendered(text), " ━{20}", TIME)
    assert "\r\x1b[1m1500/1500\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m" in text
    assert "\b" not in text


def test_a_pipe_has_each_line_once_and_no_codes():
    text = pipe_of(1)
    assert "\r" not in text and "\x1b" not in text
    expect_lines(text.split("\n"), " ━{20}", TIME)


def test_verbose_2_is_plain_everywhere(terminal_of):
    for text in (terminal_of(2).replace("\r\n", "\n"), pipe_of(2)):
        assert "\r" not in text and "\x1b" not in text
        expect_lines(text.split("\n"), " -", TIME.replace("s ", "s - ", 1))


def test_jupyter_counts_as_a_terminal(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    Progress(1).step(3, 3, 0.3, {"loss": 1.0}, True)
    assert capsys.readouterr().out.startswith("\r\x1b[1m3/3\x1b[0m")


def test_a_line_that_moves_leaves_nothing_of_a_longer_one(monkeypatch):
    monkeypatch.setattr("cornu.keras._progress._INTERVAL", 0)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    progress = Progress(1)
    progress.moves = True
    progress.step(5, 10, 5000.0, {"loss": 0.25, "a_metric_of_a_long_name": 0.5}, False)
    progress.step(10, 10, 0.01, {"loss": 0.25}, True)
    first, last = out.getvalue().split("\r")[1:]
    assert "5/10" in first and "1:23:20" in first
    assert rendered(out.getvalue())[0].endswith("1ms/step - loss: 0.2500")


def test_steps_that_are_not_counted_beforehand(monkeypatch, capsys):
    monkeypatch.setattr("cornu.keras._progress._INTERVAL", 0)
    progress = Progress(1)
    progress.moves = True
    progress.step(7, 0, 0.7, {"loss": 0.5}, False)
    progress.step(7, 0, 0.7, {"loss": 0.5}, True)
    moving, last = capsys.readouterr().out.split("\r")[1:]
    assert moving.startswith("\x1b[1m      7/Unknown\x1b[0m") and "7/7" in last


def test_one_epoch_has_no_heading_and_logs_come_in_keras_order(capsys):
    progress = Progress(2)
    progress.epoch(0, 1)
    logs = {"val_loss": 0.0001, "loss": 0.5, "learning_rate": 0.1, "zeal": 1.0, "accuracy": -2.0}
    progress.step(1, 1, 2.0, logs, True)
    assert capsys.readouterr().out == ("1/1 - 2s - 2s/step - accuracy: -2.0000 - loss: 0.5000 - zeal: 1.0000"
                                       " - val_loss: 1.0000e-04 - learning_rate: 0.1000\n")


def test_an_output_without_unicode_gets_a_plain_bar(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    Progress(1).step(1, 1, 0.0, {}, True)
    assert out.buffer.getvalue() == b"1/1 ==================== 0s 0s/step\n"


def test_lines_follow_standard_output(monkeypatch):
    out = io.StringIO()
    progress = Progress(1)
    monkeypatch.setattr(sys, "stdout", out)
    progress.step(1, 1, 0.0, {}, True)
    assert out.getvalue() and keras
