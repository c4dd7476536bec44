"""Scripts written for Keras, run with Keras or, by their imports alone, with cornu.

A script of scripts/ is run in an empty folder of its own and leaves `results`: numbers, arrays, strings, lists and
dicts. expected.json keeps what real Keras gave, of long arrays some elements, and origin.json the version of Keras and the
checksums of the scripts that gave it; peers/python_face.py writes both."""
import contextlib
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "scripts"
EXPECTED, ORIGIN = FOLDER / "expected.json", FOLDER / "origin.json"
CLOSE = 1e-4  # of an array's largest element
KEPT = 16     # elements of a long array in expected.json


def for_cornu(text: str) -> str:
    """The script with cornu's import."""
    text = re.sub(r"^(import|from) tensorflow\b", r"\1 cornu", text, flags=re.M)
    text = re.sub(r"^import keras$", "from cornu import keras", text, flags=re.M)
    return re.sub(r"^from keras\b", "from cornu.keras", text, flags=re.M)


def run(script: Path, cornu: bool) -> dict:
    """The script's results, by their paths: "history/loss" and the like."""
    text = script.read_text()
    code = compile(for_cornu(text) if cornu else text, str(script), "exec")
    names = {"__name__": script.stem}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(nowhere):
                exec(code, names)
        finally:
            os.chdir(here)
    return dict(_leaves("", names["results"]))


def _leaves(path: str, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{path}/{key}" if path else str(key), inner)
    elif isinstance(value, (list, tuple)) and not _is_numbers(value):
        for number, inner in enumerate(value):
            yield from _leaves(f"{path}/{number}", inner)
    elif value is None or isinstance(value, str):
        yield path, value
    else:
        yield path, np.asarray(value, np.float64)


def _is_numbers(value) -> bool:
    try:
        return np.asarray(value, np.float64).dtype == np.float64 and None not in value
    except (TypeError, ValueError):
        return False


def kept(results: dict) -> dict:
    """As expected.json has them: strings as they are, arrays as [shape, largest, some elements]."""
    return {name: value if value is None or isinstance(value, str) else _some(value) for name, value in results.items()}


def _some(array: np.ndarray) -> list:
    flat = array.ravel()
    index = np.linspace(0, max(flat.size - 1, 0), min(flat.size, KEPT)).astype(int)
    return [list(array.shape), float(f"{_largest(array):.7g}"), [float(f"{v:.7g}") for v in flat[index]]]


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0))


def differences(found: dict, expected: dict) -> list[str]:
    """What kept(...) of two runs says otherwise."""
    if list(found) != list(expected):
        return [f"found {sorted(set(found) - set(expected))} and not {sorted(set(expected) - set(found))}"]
    bad = []
    for name, a in found.items():
        b = expected[name]
        if not isinstance(a, list) or not isinstance(b, list) or a[0] != b[0]:
            bad += [f"{name}: found {a!r}; expected {b!r}"] if a != b else []
            continue
        size = max(b[1], 1e-6)
        apart = np.max(np.abs(np.subtract([a[1], *a[2]], [b[1], *b[2]])), initial=0) / size
        if not apart <= CLOSE:
            bad.append(f"{name}: apart by {apart:.1e} of its size: found {a[2][:6]}; expected {b[2][:6]}")
    return bad


def read_expected() -> dict:
    return json.loads(EXPECTED.read_text())


def checksum(script: Path) -> str:
    return hashlib.sha256(script.read_bytes()).hexdigest()[:16]


def read_origin() -> dict:
    """{"keras": its version, "scripts": {name: checksum}}"""
    return json.loads(ORIGIN.read_text())


def write_origin(version: str) -> None:
    scripts = {script.stem: checksum(script) for script in sorted(FOLDER.glob("*.py"))}
    ORIGIN.write_text(json.dumps({"keras": version, "scripts": scripts}, indent=0) + "\n")


def write_expected(results: dict) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(kept(values))}" for name, values in sorted(results.items())]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
