"""Pictures with several labels each: AUC and its kin, F-scores, IoU, R2, precision of the largest and at several thresholds."""
import numpy as np
import keras
from keras import layers, metrics

rng = np.random.default_rng(31)
pictures = rng.random((60, 6, 6, 1), np.float32)
scores = pictures.reshape(60, 36) @ rng.normal(0, 1, (36, 4))
labels = (scores > np.median(scores, 0)).astype("float32")
one_hot = keras.utils.to_categorical(scores.argmax(1), 4)
values = (scores / 4).astype("float32")
cases = {
    "labels": ("sigmoid", labels, "binary_crossentropy", [
        "binary_accuracy", metrics.AUC(name="roc"), metrics.AUC(curve="PR", name="pr"),
        metrics.AUC(multi_label=True, name="each"),
        metrics.AUC(multi_label=True, num_labels=4, curve="PR", label_weights=[1.0, 2.0, 0.5, 0.0], name="averaged"),
        metrics.AUC(num_thresholds=9, summation_method="minoring", name="below"),
        metrics.AUC(num_thresholds=9, curve="PR", summation_method="majoring", name="above"),
        metrics.AUC(thresholds=[0.7, 0.2, 0.4], label_weights=[1.0, 2.0, 0.5, 0.0], name="own"),
        metrics.AUC(thresholds=[0.5], curve="PRGAIN", name="gain")]),
    "logits": (None, labels, keras.losses.BinaryCrossentropy(from_logits=True), [
        metrics.AUC(from_logits=True, name="roc"), metrics.Precision(thresholds=0, name="right")]),
    "points": ("sigmoid", labels, "binary_crossentropy", [
        metrics.SensitivityAtSpecificity(0.6, name="a"), metrics.SpecificityAtSensitivity(0.6, 20, name="b"),
        metrics.PrecisionAtRecall(0.5, class_id=2, name="c"), metrics.RecallAtPrecision(0.6, num_thresholds=1, name="d"),
        metrics.RecallAtPrecision(0.55, num_thresholds=2, name="e"),
        metrics.Precision(top_k=2, name="f"), metrics.Recall(top_k=2, class_id=1, name="g"),
        metrics.Precision(thresholds=[0.6, 0.4, 0.5], name="h"), metrics.Recall(thresholds=[0.0, 0.5, 1.0], name="i")]),
    "f": ("sigmoid", labels, "binary_crossentropy", [
        metrics.F1Score(), metrics.F1Score("macro", threshold=0.4, name="macro"),
        metrics.FBetaScore("weighted", beta=2.0, threshold=0.5), metrics.F1Score("micro", name="micro"),
        metrics.BinaryIoU(name="halves"), metrics.BinaryIoU([1], threshold=0.3, name="found")]),
    "classes": ("softmax", one_hot, "categorical_crossentropy", [
        metrics.OneHotIoU(4, [0, 2], name="two"), metrics.OneHotMeanIoU(4, name="mean"), "f1_score",
        metrics.OneHotMeanIoU(4, ignore_class=1, name="less")]),
    "numbers": ("softmax", scores.argmax(1), "sparse_categorical_crossentropy", [
        metrics.MeanIoU(4, sparse_y_pred=False, name="mean"), metrics.IoU(4, [1], sparse_y_pred=False, name="second")]),
    "values": (None, values, "mse", [
        metrics.R2Score(), metrics.R2Score("variance_weighted_average", name="by_variance"),
        metrics.R2Score(None, name="each"),
        metrics.MeanIoU(3, name="floor")]),
}
results = {}
for name, (activation, y, loss, of) in cases.items():
    model = keras.Sequential([keras.Input((6, 6, 1)), layers.Conv2D(3, 3, activation="relu"), layers.Flatten(),
                              layers.Dense(4, activation=activation)])
    weights = np.random.default_rng(5)
    model.set_weights([weights.normal(0, 0.3, w.shape) for w in model.get_weights()])
    model.compile(optimizer=keras.optimizers.SGD(0.2), loss=loss, metrics=of)
    results[name] = {
        "batch": model.test_on_batch(pictures[:9], y[:9], return_dict=True),
        "history": model.fit(pictures, y, epochs=2, batch_size=16, shuffle=False, validation_split=0.25, verbose=0).history,
        "evaluate": model.evaluate(pictures, y, batch_size=16, verbose=0, return_dict=True)}
