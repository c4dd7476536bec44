"""Losses and a metric in the mathematics of keras.backend, as posts have them."""
import numpy as np
import tensorflow as tf

keras = tf.keras
K = keras.backend
rng = np.random.default_rng(1)
x = rng.random((20, 4), np.float32)
y = (rng.random((20, 3)) > 0.5).astype("float32")
start = [rng.normal(0, 0.5, (4, 3)).astype("float32"), np.zeros(3, "float32")]


def iou(y_true, y_pred):
    both = K.sum(K.abs(y_true * y_pred), axis=-1)
    either = K.sum(y_true, -1) + K.sum(y_pred, -1) - both
    return 1 - (both + 1.0) / (either + 1.0)


def rmse(y_true, y_pred):
    return K.sqrt(K.mean(K.square(y_pred - y_true)))


def crossentropy(y_true, y_pred):
    return K.mean(K.binary_crossentropy(y_true, y_pred))


def dice(y_true, y_pred):
    y_true, y_pred = K.flatten(y_true), K.flatten(y_pred)
    both = K.sum(y_true * y_pred)
    return 1 - (2 * both + K.epsilon()) / (K.sum(y_true) + K.sum(y_pred) + K.epsilon())


def cosine(y_true, y_pred):
    return -K.sum(K.l2_normalize(y_true, axis=-1) * K.l2_normalize(y_pred, axis=-1), axis=-1)


def f1(y_true, y_pred):
    right = K.sum(K.round(K.clip(y_true * y_pred, 0, 1)))
    true, found = K.sum(K.round(K.clip(y_true, 0, 1))), K.sum(K.round(K.clip(y_pred, 0, 1)))
    precision, recall = right / (found + K.epsilon()), right / (true + K.epsilon())
    return 2 * precision * recall / (precision + recall + K.epsilon())


results = {}
for loss in (iou, rmse, crossentropy, dice, cosine):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="sigmoid")])
    model.set_weights(start)
    model.compile(keras.optimizers.SGD(0.5), loss, metrics=[f1])
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    results[loss.__name__] = [history.history, model.predict(x, verbose=0)]
