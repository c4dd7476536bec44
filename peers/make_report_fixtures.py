"""What scikit-learn's classification_report, confusion_matrix and top_k_accuracy_score make of classes and predictions: writes
tests/fixtures/report.npz, which report.report_test reads.

    .venv/bin/python peers/make_report_fixtures.py [--output FILE]"""
import argparse
import pathlib

import numpy as np
from sklearn.metrics import classification_report, confusion_matrix, top_k_accuracy_score

FIXTURES = pathlib.Path(__file__).parent.parent / "tests" / "fixtures" / "report.npz"


def told(truth, values, k):
    classes = values.shape[1]
    labels = list(range(classes))
    predicted = values.argmax(1)
    report = classification_report(truth, predicted, labels=labels, zero_division=0, output_dict=True)
    rows = [report[str(i)] for i in labels] + [report["macro avg"], report["weighted avg"]]
    scores = [[row["precision"], row["recall"], row["f1-score"], row["support"]] for row in rows]
    top = top_k_accuracy_score(truth, values, k=k, labels=labels) if classes > 2 else (predicted == truth).mean()
    whole = [report.get("accuracy", (predicted == truth).mean()), top, k if classes > 2 else 1]
    return {"truth": truth.astype(np.int32), "values": values.astype(np.float32),
            "matrix": confusion_matrix(truth, predicted, labels=labels).astype(np.int32), "scores": np.array(scores, np.float32),
            "whole": np.array(whole, np.float32)}


def values_of(rng, truth, classes, skill):
    """No two of a row alike, so that the order of equal ones, of which scikit-learn has another, plays no part."""
    values = np.argsort(rng.random((len(truth), classes)), axis=1).astype(np.float32)
    values[np.arange(len(truth)), truth] += np.where(rng.random(len(truth)) < skill, classes, 0.5)
    return values / 128


def cases(rng):
    truth = rng.integers(0, 4, 60)
    yield "usual", truth, values_of(rng, truth, 4, 0.6), 2
    truth = rng.choice([0, 1, 3], 40)  # class 2 has no samples
    values = values_of(rng, truth, 5, 0.6)
    values[:, 4] = -1  # class 4 has none, and is never predicted
    values[truth == 1, 1] = -1  # class 1 is never predicted
    values[:, 1] = -1
    yield "empty", truth, values, 3
    truth = np.full(20, 1)
    yield "one", truth, values_of(rng, truth, 3, 0.5), 2
    yield "all_right", truth, values_of(rng, truth, 3, 1), 2
    truth = rng.integers(0, 2, 50)
    yield "two", truth, values_of(rng, truth, 2, 0.5), 1
    truth = rng.integers(0, 30, 200)
    yield "many", truth, values_of(rng, truth, 30, 0.5), 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default=FIXTURES)
    arrays = {}
    for name, truth, values, k in cases(np.random.default_rng(1)):
        arrays |= {f"{name}/{key}": value for key, value in told(truth, values, k).items()}
    np.savez_compressed(parser.parse_args().output, **arrays)


main()
