"""classification_report, confusion_matrix: what the model confuses, of everything that evaluate takes."""
import json

import numpy as np
import pytest

from cornu import keras


def test_the_report_counts_what_predict_says(model, samples):
    x, y = samples
    model.fit(x, y, epochs=3, verbose=0)
    predicted = model.predict(x, verbose=0).argmax(1)
    matrix = model.confusion_matrix(x, y)
    expected = np.zeros((3, 3), np.int64)
    np.add.at(expected, (y, predicted), 1)
    assert np.array_equal(matrix, expected)
    report = model.classification_report(x, y, batch_size=7)
    assert report["accuracy"] == pytest.approx((predicted == y).mean())
    assert report["scores"]["accuracy"] == pytest.approx(report["accuracy"])
    assert report["confusion_matrix"] == expected.tolist()
    assert sorted(e["sample"] for e in report["misclassified"]) == np.flatnonzero(predicted != y).tolist()
    for i, row in enumerate(report["classes"]):
        assert row["support"] == (y == i).sum()
        assert row["recall"] == pytest.approx(expected[i, i] / expected[i].sum())


def test_batches_and_one_hot_targets_give_the_same(samples):
    x, y = samples
    m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")])
    m.compile("sgd", "categorical_crossentropy")
    one_hot = keras.utils.to_categorical(y, 3)
    whole = m.classification_report(x, one_hot)
    batches = m.classification_report((x[i:i + 8], one_hot[i:i + 8]) for i in range(0, 60, 8))
    assert whole["confusion_matrix"] == batches["confusion_matrix"] and whole["misclassified"] == batches["misclassified"]


def test_files_are_written(model, samples, tmp_path):
    report = model.classification_report(*samples, files=[tmp_path / "r.json", str(tmp_path / "r.png")])
    assert json.loads((tmp_path / "r.json").read_text()) == report
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="expected one that ends in .json or .png"):
        model.classification_report(*samples, files=tmp_path / "r.txt")


def test_what_tells_no_classes_is_refused(samples):
    x, y = samples
    m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(1)])
    m.compile("sgd", "mse")
    with pytest.raises(NotImplementedError, match="outputs that are no classes"):
        m.classification_report(x, y.astype(np.float32))
