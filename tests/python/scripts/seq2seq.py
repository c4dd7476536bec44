"""Encoder and decoder: what the first recurrent layers have read is the state with which the others begin. As one model, then step by
step as in Keras's introduction to sequence-to-sequence learning, and with the encoder as a model within the model."""
import numpy as np
from keras import Input, Model, layers

rng = np.random.default_rng(21)
read = rng.random((40, 6, 3)).astype("float32")
said = rng.random((40, 5, 2)).astype("float32")
words = rng.integers(0, 3, (40, 5))


def both(kind, **options):
    """The layers of an encoder and of a decoder."""
    return kind(4, return_state=True, name="encoder"), kind(4, return_sequences=True, return_state=True, name="decoder", **options)


def wrapped(around, cell):
    return (around(cell(), return_state=True, name="encoder"), around(cell(), return_sequences=True, return_state=True, name="decoder"))


def directions(merge_mode):
    return tuple(layers.Bidirectional(layers.LSTM(3, return_sequences=True, return_state=True), merge_mode=merge_mode, name=name)
                 for name in ("encoder", "decoder"))


networks = {
    "lstm": lambda: both(layers.LSTM),
    "gru": lambda: both(layers.GRU, go_backwards=True),
    "gru reset before": lambda: both(layers.GRU, reset_after=False),
    "simple": lambda: both(layers.SimpleRNN),
    "cell": lambda: wrapped(layers.RNN, lambda: layers.LSTMCell(4)),
    "both directions": lambda: directions("concat"),
    "sum of directions": lambda: directions("sum"),
}
results = {}


def trained(model, inputs, targets):
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    losses = ["sparse_categorical_crossentropy"] + ["mse"] * (len(model.outputs) - 1)
    model.compile("adam", losses if len(losses) > 1 else losses[0])
    return model.fit(inputs, targets, batch_size=20, epochs=3, shuffle=False, verbose=0).history["loss"]


for name, make in networks.items():
    encoder, decoder = make()
    inputs = Input((6, 3)), Input((5, 2))
    _, *states = encoder(inputs[0])
    outputs, *_ = decoder(inputs[1], initial_state=states)
    model = Model(inputs, layers.Dense(3, activation="softmax")(outputs))
    results[name] = {"loss": trained(model, [read, said], words), "outputs": model.predict([read, said], verbose=0),
                     "parameters": model.count_params(), "layers": len(model.layers)}

encoder, decoder = both(layers.LSTM)
dense = layers.Dense(3, activation="softmax")
reads, says = Input((6, 3)), Input((5, 2))
_, h, c = encoder(reads)
outputs, last_h, last_c = decoder(says, initial_state=[h, c])
model = Model([reads, says], [dense(outputs), last_h, last_c])
results["states trained"] = trained(model, [read, said], [words, read[:, 0, :1] * np.ones(4), said[:, 0, :1] * np.ones(4)])
encoder_model = Model(reads, [h, c])
word, given_h, given_c = Input((1, 2)), Input((4,)), Input((4,))
outputs, next_h, next_c = decoder(word, initial_state=[given_h, given_c])
decoder_model = Model([word, given_h, given_c], [dense(outputs), next_h, next_c])
states = encoder_model.predict(read, verbose=0)
results["encoder's states"] = states
for step in range(3):
    spoken, *states = decoder_model.predict([said[:, step:step + 1], *states], verbose=0)
    results[f"step {step}"] = spoken

reads, says = Input((6, 3)), Input((5, 2))
inner_input = Input((6, 3))
_, h, c = layers.LSTM(4, return_state=True)(inner_input)
inner = Model(inner_input, [h, c], name="inner")
model = Model([reads, says], dense(layers.LSTM(4, return_sequences=True)(says, initial_state=inner(reads))))
results["within a model"] = {"loss": trained(model, [read, said], words), "outputs": model.predict([read, said], verbose=0)}

lstm = layers.LSTM(4, return_state=True)
first = lstm(read)
lstm.set_weights([rng.normal(0, 0.4, w.shape) for w in lstm.get_weights()])
first = lstm(read)
results["called on arrays"] = {"first": [np.asarray(x) for x in first],
                               "next": [np.asarray(x) for x in lstm(read, initial_state=list(first[1:]))]}
