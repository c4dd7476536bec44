"""Attention's scores as outputs and as inputs of further layers, and a Bidirectional whose directions are two outputs."""
import numpy as np
from keras import Input, Model, layers, models

rng = np.random.default_rng(31)
x = rng.random((40, 5, 4)).astype("float32")
other = rng.random((40, 5, 4)).astype("float32")
y = rng.integers(0, 3, 40)
results = {}


def trained(model, inputs, targets):
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    losses = ["sparse_categorical_crossentropy"] + ["mse"] * (len(model.outputs) - 1)
    model.compile("adam", losses if len(losses) > 1 else losses[0])
    return model.fit(inputs, targets, batch_size=20, epochs=3, shuffle=False, verbose=0).history["loss"]


attentions = {
    "dot": lambda a, b: layers.Attention(use_scale=True)([a, b], return_attention_scores=True),
    "concat": lambda a, b: layers.Attention(score_mode="concat")([a, b], return_attention_scores=True, use_causal_mask=True),
    "additive": lambda a, b: layers.AdditiveAttention()([a, b], return_attention_scores=True),
    "several heads": lambda a, b: layers.MultiHeadAttention(2, 3)(a, b, return_attention_scores=True),
}
for name, attend in attentions.items():
    queries, keys = Input((5, 4)), Input((5, 4))
    found, scores = attend(queries, keys)
    joined = layers.Concatenate()([layers.Flatten()(found), layers.Flatten()(layers.Rescaling(2.0)(scores))])
    model = Model([queries, keys], [layers.Dense(3, activation="softmax")(joined), layers.Flatten()(scores)])
    wanted = rng.random((40, int(np.prod(scores.shape[1:])))).astype("float32")
    results[name] = {"loss": trained(model, [x, other], [y, wanted]), "outputs": model.predict([x, other], verbose=0)}
    again = Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    results[name]["again"] = again.predict([x, other], verbose=0)

inputs = Input((5, 4))
forward, backward = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode=None)(inputs)
ahead, back, *states = layers.Bidirectional(layers.GRU(2, return_state=True), merge_mode=None)(layers.Subtract()([forward, backward]))
model = Model(inputs, [layers.Dense(3, activation="softmax")(layers.Concatenate()([ahead, back])), *states])
results["directions"] = {"loss": trained(model, x, [y, x[:, 0, :2], x[:, 1, :2]]), "outputs": model.predict(x, verbose=0),
                         "parameters": model.count_params()}
model.save("directions.keras")
results["directions"]["again"] = models.load_model("directions.keras").predict(x, verbose=0)

attention = layers.MultiHeadAttention(2, 3)
attention(x, other)
attention = layers.MultiHeadAttention.from_config(attention.get_config())
attention(x, other, return_attention_scores=True)
attention.set_weights([rng.normal(0, 0.4, w.shape) for w in attention.get_weights()])
results["called on arrays"] = [np.asarray(a) for a in attention(x, other, return_attention_scores=True)]
