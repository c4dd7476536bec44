"""Scripts written for Keras run with cornu by their imports alone, and give what Keras gave."""
import json
import re

import exchange
import pytest

from cornu import keras
from cornu._tables import TABLES

SCRIPTS = sorted(exchange.FOLDER.glob("*.py"))
# Of the tables; Keras has no class of these names.
NOT_KERAS = {("schedules", "Constant")}


@pytest.fixture(scope="module")
def expected():
    return exchange.read_expected()


@pytest.mark.filterwarnings("ignore")  # Keras warns of the same: input_shape= and the like
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_gives_what_keras_gave(script, expected):
    found = json.loads(json.dumps(exchange.kept(exchange.run(script, cornu=True))))
    assert not exchange.differences(found, expected[script.stem])


def test_every_row_of_the_tables_is_in_a_script():
    said = set(re.findall(r"\w+", "".join(script.read_text() for script in SCRIPTS)))
    rows = [(table, row["class_name"]) for table in ("layers", "losses", "metrics", "optimizers", "schedules",
                                                     "initializers") for row in TABLES[table] if not row.get("operation")]
    rows += [("ops", row["name"]) for row in TABLES["layers"] if row["operation"] and row["name"] != "get_item"]
    rows += [("callbacks", name) for name in keras.callbacks.__all__]
    rows += [("activations", row["name"]) for row in TABLES["activations"]]
    assert [row for row in rows if row not in NOT_KERAS and row[1] not in said] == []


def test_what_keras_gave_is_of_these_scripts(expected):
    assert sorted(expected) == [script.stem for script in SCRIPTS]


def test_what_keras_gave_is_of_these_texts():
    """Otherwise peers/python_face.py --update is due."""
    assert exchange.read_origin()["scripts"] == {script.stem: exchange.checksum(script) for script in SCRIPTS}


def test_only_imports_are_exchanged():
    text = "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nimport keras\n" \
           "from keras import layers\nimport tensorflow_like\nx = 'tensorflow keras a.keras', \"b.weights.h5\"\n"
    assert exchange.for_cornu(text) == (
        "import cornu as tf\nfrom cornu.keras.layers import Dense\nfrom cornu import keras\n"
        "from cornu.keras import layers\nimport tensorflow_like\n"
        "x = 'tensorflow keras a.keras', \"b.weights.h5\"\n")


def test_a_difference_is_told():
    one = {"a": [[2], 2.0, [1.0, 2.0]], "b": "x"}
    assert not exchange.differences(one, {**one, "a": [[2], 2.0, [1.0001, 2.0]]})
    assert exchange.differences(one, {**one, "a": [[2], 2.0, [1.001, 2.0]]})
    assert exchange.differences({**one, "a": [[2], 2.0, [float("nan"), 2.0]]}, one)
    assert exchange.differences(one, {**one, "a": [[1, 2], 2.0, [1.0, 2.0]]})
    assert exchange.differences(one, {**one, "b": "y"}) and exchange.differences(one, {"a": one["a"]})
