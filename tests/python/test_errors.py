"""Wrong uses: each a clear exception, and the model goes on."""
import numpy as np
import pytest

import cornu
from cornu import keras

X = np.zeros((6, 8, 8, 1), np.float32)
Y = np.zeros(6, int)

def _closed():
    """A generator that was closed."""
    batches = ((X, Y) for _ in range(3))
    batches.close()
    return batches


FIT = [
    (ValueError, "shape", lambda m: m.fit(X[:, :7], Y)),
    (ValueError, "targets", lambda m: m.fit(X, Y[:5])),
    (ValueError, "expected 0 to 2", lambda m: m.fit(X, Y + 3)),
    (ValueError, "from -1", lambda m: m.fit(X, Y - 1)),
    (ValueError, "class numbers", lambda m: m.fit(X, Y + 0.5)),
    (ValueError, "class numbers", lambda m: m.fit(X, np.full(6, np.nan))),
    (ValueError, "one class number a sample", lambda m: m.fit(X, np.zeros((6, 3)))),
    (ValueError, "no samples", lambda m: m.fit(X[:0], Y[:0])),
    (TypeError, "numbers", lambda m: m.fit(X.astype(object), Y)),
    (TypeError, "numbers", lambda m: m.fit(X, np.array(list("abcdef")))),
    (TypeError, "numbers", lambda m: m.fit(X.astype(complex), Y)),
    (ValueError, "samples first", lambda m: m.fit(np.float32(3), Y)),
    (ValueError, "epochs", lambda m: m.fit(X, Y, epochs=0)),
    (ValueError, "epochs", lambda m: m.fit(X, Y, epochs=1.5)),
    (ValueError, "batch_size", lambda m: m.fit(X, Y, batch_size=-1)),
    (ValueError, "steps_per_epoch", lambda m: m.fit(X, Y, steps_per_epoch=0.5)),
    (ValueError, "validation_split", lambda m: m.fit(X, Y, validation_split=1.5)),
    (ValueError, "verbose", lambda m: m.fit(X, Y, verbose=7)),
    (ValueError, "shape", lambda m: m.fit(X, Y, validation_data=(X[:, :3], Y))),
    (ValueError, "3 samples|targets", lambda m: m.fit(X, Y, validation_data=(X, Y[:3]))),
    (ValueError, "1 things", lambda m: m.fit(X, Y, validation_data=(X,))),
    (TypeError, "class_weight", lambda m: m.fit(X, Y, class_weight=[1, 2])),
    (ValueError, "class_weight", lambda m: m.fit(X, Y, class_weight={"cat": 1})),
    (ValueError, "class_weight", lambda m: m.fit(X, Y, class_weight={-1: 1})),
    (ValueError, "class_weight", lambda m: m.fit(X, Y, class_weight={0: float("nan")})),
    (ValueError, "finite", lambda m: m.fit(X, Y, class_weight={0: 1e300})),
    (ValueError, "weights of their own", lambda m: m.fit(X, Y, class_weight={0: 1}, sample_weight=np.ones(6))),
    (ValueError, "sample_weight", lambda m: m.fit(X, Y, sample_weight=np.ones(5))),
    (TypeError, "sample_weight", lambda m: m.fit(X, Y, sample_weight=list("abcdef"))),
    (ValueError, "finite", lambda m: m.fit(X, Y, sample_weight=np.full(6, np.inf))),
    (ValueError, "initial_epoch", lambda m: m.fit(X, Y, initial_epoch=-2)),
    (ValueError, "validation_freq", lambda m: m.fit(X, Y, validation_split=0.5, validation_freq=0)),
    (ValueError, "validation_batch_size", lambda m: m.fit(X, Y, validation_batch_size=0)),
    (TypeError, "worker", lambda m: m.fit(X, Y, worker=2)),
    (NotImplementedError, "use_multiprocessing", lambda m: m.fit(X, Y, use_multiprocessing=True)),
    (ValueError, "the model's inputs are", lambda m: m.fit({"a": X}, Y)),
    (ValueError, "beside data that gives batches", lambda m: m.fit(iter([(X, Y)]), Y)),
    (ValueError, "no batches", lambda m: m.fit(iter([]))),
    (ValueError, "no batches", lambda m: m.fit(_closed())),
    (ValueError, "without targets", lambda m: m.fit(iter([(X,)]))),
    (ValueError, "without targets", lambda m: m.fit(iter([(X, Y), (X, None)]), steps_per_epoch=2)),
    (ValueError, "4 things", lambda m: m.fit(iter([(X, Y, Y, Y)]))),
    (ValueError, "ndarray", lambda m: m.fit(iter([X]))),
    (ValueError, "targets for", lambda m: m.fit(iter([(X, Y[:2])]))),
    (ValueError, "shape", lambda m: m.fit(iter([(X, Y), (X[:, :4], Y)]))),
    (ValueError, "class numbers", lambda m: m.fit(iter([(X, Y), (X, Y + 9)]))),
    (ValueError, "other targets or weights", lambda m: m.fit(iter([(X, Y), (X, Y, np.ones(6))]))),
    (ZeroDivisionError, "zero", lambda m: m.fit((X / (1 // (1 - i)), Y) for i in range(3))),
    (ZeroDivisionError, "zero", lambda m: m.fit(X, Y, validation_data=((X / (1 // (1 - i)), Y) for i in range(3)))),
    (ZeroDivisionError, "zero", lambda m: m.evaluate((X / (1 // (1 - i)), Y) for i in range(3))),
    (ZeroDivisionError, "zero", lambda m: m.predict(X / (1 // (1 - i)) for i in range(3))),
    (ValueError, "validation_split", lambda m: m.fit(iter([(X, Y)]), validation_split=0.5)),
    (ValueError, "no batches", lambda m: m.predict(iter([]))),
    (ValueError, "steps", lambda m: m.evaluate(X, Y, steps=0)),
    (ValueError, "shape", lambda m: m.train_on_batch(X[:, :4], Y)),
    (ValueError, "None", lambda m: m.train_on_batch(X)),
    (ValueError, "class_weight and sample_weight",
     lambda m: m.train_on_batch(X, Y, sample_weight=np.ones(6), class_weight={0: 1})),
    (ValueError, "class numbers", lambda m: m.test_on_batch(X, Y - 1)),
    (ValueError, "shape", lambda m: m.predict_on_batch(X[..., [0, 0]])),
    (TypeError, "Callback", lambda m: m.fit(X, Y, callbacks=[print])),
    (ValueError, "monitor|val_loss", lambda m: m.fit(X, Y, callbacks=[keras.callbacks.EarlyStopping("val_loss")])),
    (ValueError, "shape", lambda m: m.predict(X[..., [0, 0]])),
    (ValueError, "shape", lambda m: m.evaluate(X[:, :4], Y)),
    (ValueError, "weights", lambda m: m.set_weights([])),
    (ValueError, "shape", lambda m: m.set_weights([w[:1] for w in m.get_weights()])),
    (ValueError, "shape", lambda m: m.layers[0].kernel.assign(np.zeros(3))),
    (ValueError, "safetensors", lambda m: m.save("model.pb")),
    (ValueError, "save_weights", lambda m: m.save("model.weights.h5")),
    (ValueError, "weights.h5", lambda m: m.save_weights("model.keras")),
    (TypeError, "format", lambda m: m.save("model.safetensors", format="h5")),
    (NotImplementedError, "include_optimizer", lambda m: m.save("model.safetensors", include_optimizer=False)),
    (FileNotFoundError, "nowhere", lambda m: m.load_weights("nowhere.safetensors")),
    (ValueError, "loss", lambda m: m.compile("adam")),
    (ValueError, "unknown", lambda m: m.compile("adma", "mse")),
    (ValueError, "unknown", lambda m: m.compile("adam", "msee")),
    (ValueError, "metric", lambda m: m.compile("adam", "mse", metrics=["precision_of_a_kind"])),
    (ValueError, "loss_weights", lambda m: m.compile("adam", "mse", loss_weights=[1, 2])),
    (ValueError, "two layers", lambda m: m.add(keras.layers.Dense(2, name=m.layers[0].name))),
    (TypeError, "layer", lambda m: m.add(lambda x: x)),
]


@pytest.mark.parametrize("number", range(len(FIT)))
def test_a_wrong_use_is_refused_and_the_model_goes_on(model, number):
    error, text, use = FIT[number]
    with pytest.raises(error, match=text):
        use(model)
    model.fit(X, Y, verbose=0)


MAKE = [
    (TypeError, "units", lambda: keras.layers.Dense()),
    (TypeError, "unit", lambda: keras.layers.Dense(unit=3)),
    (TypeError, "it takes", lambda: keras.layers.Conv2D(3)),
    (NotImplementedError, "activity_regularizer", lambda: keras.layers.SimpleRNN(3, activity_regularizer="l2")),
    (ValueError, "return_state: true", lambda: keras.layers.LSTM(2, activity_regularizer="l2", return_state=True)(keras.Input((3, 4)))),
    (NotImplementedError, "one's own", lambda: keras.layers.Dense(3, kernel_regularizer=lambda w: 0.1 * w)),
    (NotImplementedError, "one's own", lambda: keras.layers.Dense(3, kernel_constraint=lambda w: w)),
    (ValueError, "'maximum': unknown", lambda: keras.layers.Dense(3, kernel_constraint="maximum")),
    (ValueError, "'l3': unknown", lambda: keras.layers.Dense(3, kernel_regularizer="l3")),
    (ValueError, "non-negative float. Received: l2=-1", lambda: keras.regularizers.L2(-1)),
    (ValueError, "Expected one of {'rows', 'columns'}. Received: mode=both", lambda: keras.regularizers.OrthogonalRegularizer(mode="both")),
    (ValueError, "must have rank 2", lambda: keras.regularizers.OrthogonalRegularizer()(np.zeros(3))),
    (NotImplementedError, "data_format", lambda: keras.layers.Conv2D(3, 3, data_format="channels_first")),
    (NotImplementedError, "mask_zero", lambda: keras.layers.Embedding(4, 2, mask_zero=True)),
    (ValueError, "single output tensor", lambda: keras.Sequential([keras.Input((3, 4)), keras.layers.LSTM(2, return_state=True)])),
    (ValueError, "initial_state of 1 tensor; expected 2", lambda: keras.layers.LSTM(2)(keras.Input((3, 4)), initial_state=keras.Input((2,)))),
    (ValueError, r"initial_state of shape \(3\); expected \(2\)", lambda: keras.layers.GRU(2)(keras.Input((3, 4)), keras.Input((3,)))),
    (ValueError, r"expects 1 input\(s\), but it received 3", lambda: keras.layers.LSTM(2)([keras.Input((3, 4)), keras.Input((2,)), keras.Input((2,))])),
    (NotImplementedError, "initial_state", lambda: keras.layers.Dense(2)(keras.Input((3,)), initial_state=keras.Input((2,)))),
    (NotImplementedError, "stateful", lambda: keras.layers.LSTM(4, stateful=True)),
    (ValueError, "Please initialize `TimeDistributed`", lambda: keras.layers.TimeDistributed(3)),
    (NotImplementedError, "no models", lambda: keras.layers.TimeDistributed(keras.Sequential([keras.layers.Dense(2)]))),
    (ValueError, "found Dense; expected SimpleRNN", lambda: keras.layers.Bidirectional(keras.layers.Dense(2))(keras.Input((3, 4)))),
    (ValueError, "go_backwards: true", lambda: keras.layers.Bidirectional(keras.layers.LSTM(2, go_backwards=True))(keras.Input((3, 4)))),
    (ValueError, "found BatchNormalization", lambda: keras.layers.TimeDistributed(keras.layers.BatchNormalization())(keras.Input((3, 4)))),
    (NotImplementedError, "same in all its calls", lambda: [f(keras.Input((3, 4)), keras.Input((3, 4)), use_causal_mask=mask)
                                                            for f in [keras.layers.MultiHeadAttention(2, 3)] for mask in (True, False)]),
    (ValueError, "the letters that the output lacks", lambda: keras.layers.EinsumDense("abc,dc->abd", (None, 2))(keras.Input((3, 4)))),
    (NotImplementedError, "same in all its calls", lambda: [f([keras.Input((3, 4))] * 2, return_attention_scores=scores)
                                                            for f in [keras.layers.Attention()] for scores in (True, False)]),
    (NotImplementedError, "query_mask", lambda: keras.layers.MultiHeadAttention(2, 3)(*[keras.Input((3, 4))] * 2, query_mask=keras.Input((3,)))),
    (TypeError, "found no value", lambda: keras.layers.MultiHeadAttention(2, 3)(keras.Input((3, 4)))),
    (NotImplementedError, "dtype", lambda: keras.layers.Dense(3, dtype="float16")),
    (ValueError, "trainable", lambda: keras.layers.Dense(3, trainable="no")),
    (ValueError, "height, width, channels", lambda: keras.layers.Conv2D(3, 3)(keras.Input((3,)))),
    (ValueError, "units", lambda: keras.Sequential([keras.Input((3,)), keras.layers.Dense(-3)])),
    (ValueError, "rate", lambda: keras.Sequential([keras.Input((3,)), keras.layers.Dropout(1.5)])),
    (ValueError, "window", lambda: keras.Sequential([keras.Input((3, 3, 1)), keras.layers.Conv2D(2, 5)])),
    (ValueError, "shape", lambda: keras.Input()),
    (ValueError, "shape", lambda: keras.Input((0, 3))),
    (ValueError, "input shape", lambda: keras.Sequential([keras.layers.Dense(3)]).summary()),
    (ValueError, "layers", lambda: keras.Sequential().build((None, 3))),
    (ValueError, "compiled", lambda: keras.Sequential([keras.layers.Dense(3)]).fit(X, Y)),
    (TypeError, "learning_rat", lambda: keras.optimizers.Adam(learning_rat=1)),
    (ValueError, "ema_momentum", lambda: keras.optimizers.Adam(use_ema=True, ema_momentum=1.5)),
    (ValueError, "gradient_accumulation_steps", lambda: keras.optimizers.Adam(gradient_accumulation_steps=1)),
    (NotImplementedError, "axis", lambda: keras.losses.CategoricalCrossentropy(axis=0)),
    (ValueError, "reduction='all'; expected", lambda: keras.losses.Huber(reduction="all")),
    (NotImplementedError, "ConvLSTM2D", lambda: keras.layers.ConvLSTM2D),
    (NotImplementedError, "MultiOptimizer", lambda: keras.optimizers.MultiOptimizer),
    (NotImplementedError, "CTC", lambda: keras.losses.CTC),
    (AttributeError, "Dens", lambda: keras.layers.Dens),
    (FileNotFoundError, "model.h5", lambda: keras.models.load_model("model.h5")),
    (NotImplementedError, "custom_objects", lambda: keras.models.model_from_json("{}", {"A": 1})),
    (FileNotFoundError, "nothing", lambda: keras.models.load_model("nothing.safetensors")),
    (ValueError, "class numbers", lambda: keras.utils.to_categorical([0, 5], 3)),
    (ValueError, "whole number", lambda: keras.utils.set_random_seed("a")),
    (RuntimeError, "GPU", lambda: cornu.device("/GPU:7")),
    (ValueError, "unknown", lambda: cornu.device("/TPU:0")),
]


@pytest.mark.parametrize("number", range(len(MAKE)))
def test_what_cannot_be_made_says_why(number):
    error, text, make = MAKE[number]
    with pytest.raises(error, match=text):
        make()
