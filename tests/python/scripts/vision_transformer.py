"""A small vision transformer: patches by a strided convolution, their places by a table, blocks of attention and of dense layers."""
import numpy as np
from keras import Input, Model, layers

rng = np.random.default_rng(13)
SIDE, PATCH, WIDTH = 16, 4, 12
COUNT = (SIDE // PATCH) ** 2
kinds = rng.integers(0, 3, 48)
pictures = (rng.random((48, SIDE, SIDE, 3)) + kinds[:, None, None, None] * 0.4).astype("float32")
places = np.tile(np.arange(COUNT), (48, 1))


def block(x):
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.MultiHeadAttention(num_heads=3, key_dim=4)(y, y)
    x = layers.Add()([x, y])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(2 * WIDTH, activation="gelu")(y)
    return layers.Add()([x, layers.Dense(WIDTH)(y)])


image, place = Input((SIDE, SIDE, 3)), Input((COUNT,))
x = layers.Reshape((COUNT, WIDTH))(layers.Conv2D(WIDTH, PATCH, strides=PATCH)(image))
x = layers.Add()([x, layers.Embedding(COUNT, WIDTH)(place)])
x = block(block(x))
x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
model = Model([image, place], layers.Dense(3, activation="softmax")(x))
model.set_weights([rng.normal(0, 0.2, w.shape) + (w.ndim == 1) for w in model.get_weights()])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit([pictures, places], kinds, batch_size=16, epochs=3, shuffle=False, verbose=0)
results = {
    "loss": history.history["loss"], "accuracy": history.history["accuracy"],
    "outputs": model.predict([pictures, places], verbose=0),
    "parameters": model.count_params(), "shapes": [w.shape for w in model.weights],
}
query, other = Input((5, 6)), Input((4, 3))
three = layers.MultiHeadAttention(2, 3, value_dim=2, use_bias=False, output_shape=4)(query, other, layers.Dense(5)(other))
two = layers.Attention()([query, layers.Dense(6)(other)])
model = Model([query, other], [three, two])
model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])
results["several inputs"] = dict(zip(("three", "two"), model.predict([rng.random((3, 5, 6)), rng.random((3, 4, 3))], verbose=0)))
causal = layers.MultiHeadAttention(2, 3, kernel_regularizer="l2", bias_constraint="non_neg")(query, query, use_causal_mask=True)
scaled = layers.Attention(use_scale=True)([causal, causal], use_causal_mask=True)
additive = layers.AdditiveAttention()([scaled, layers.EinsumDense("abc,cd->abd", (4, 6), bias_axes="d")(other)])
model = Model([query, other], layers.Dense(1)(layers.Flatten()(additive)))
model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])
model.compile("sgd", "mse")
data = [rng.random((12, 5, 6)), rng.random((12, 4, 3))]
history = model.fit(data, rng.random((12, 1)), batch_size=6, epochs=3, shuffle=False, verbose=0)
results["options"] = {"loss": history.history["loss"], "outputs": model.predict(data, verbose=0), "shapes": [w.shape for w in model.weights]}
