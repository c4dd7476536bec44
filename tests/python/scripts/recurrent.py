"""Recurrent layers: an LSTM reads pictures row by row; SimpleRNN and GRU, in both directions and one upon another."""
import numpy as np
from keras import Input, Sequential, layers

rng = np.random.default_rng(12)
kinds = rng.integers(0, 3, 60)
pictures = (rng.random((60, 12, 8)) + kinds[:, None, None] * 0.3).astype("float32")
networks = {
    "rows of pictures": [layers.LSTM(16), layers.Dense(3, activation="softmax")],
    "lstm upon lstm": [layers.LSTM(6, return_sequences=True), layers.LSTM(5, unit_forget_bias=False), layers.Dense(3, activation="softmax")],
    "gru": [layers.GRU(7, go_backwards=True, return_sequences=True), layers.GRU(4, reset_after=False), layers.Dense(3, activation="softmax")],
    "simple": [layers.SimpleRNN(9, unroll=True), layers.Dense(3, activation="softmax")],
    "both directions": [layers.Bidirectional(layers.LSTM(5, return_sequences=True)), layers.Bidirectional(
        layers.GRU(3), merge_mode="sum"), layers.Dense(3, activation="softmax")],
    "cells": [layers.RNN(layers.StackedRNNCells([layers.LSTMCell(4), layers.GRUCell(3)]), return_sequences=True), layers.TimeDistributed(layers.Dense(
        4, "relu")), layers.Bidirectional(layers.RNN(layers.SimpleRNNCell(3), go_backwards=False),
                                          backward_layer=layers.LSTM(3, go_backwards=True)), layers.Dense(3, activation="softmax")],
    "regularized": [layers.LSTM(4, kernel_regularizer="l2", recurrent_constraint="max_norm"), layers.Dense(3, activation="softmax")],
    "options": [layers.LSTM(5, activation="elu", recurrent_activation="hard_sigmoid", use_bias=False, return_sequences=True),
                layers.GlobalAveragePooling1D(), layers.Dense(3, activation="softmax")],
}
results = {}
for name, network in networks.items():
    model = Sequential([Input((12, 8)), *network])
    model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(pictures, kinds, batch_size=20, epochs=3, shuffle=False, verbose=0)
    results[name] = {"loss": history.history["loss"], "accuracy": history.history["accuracy"], "outputs": model.predict(pictures, verbose=0),
                     "parameters": model.count_params(), "shapes": [w.shape for w in model.weights]}
lstm = layers.LSTM(4)
results["called on an array"] = np.asarray(lstm(np.zeros((2, 5, 2), "float32"))).shape
results["forget bias"] = np.asarray(lstm.weights[2])
