"""Convolutions, paddings and poolings with options of every kind."""
import numpy as np
from keras import Input, Sequential, layers

rng = np.random.default_rng(3)
x, y = rng.random((40, 15, 12, 4), np.float32), rng.random((40, 3), np.float32)
stacks = {
    "strided": [layers.Conv2D(6, (5, 3), strides=(2, 1), padding="same", activation="tanh")],
    "dilated": [layers.Conv2D(5, 3, dilation_rate=(2, 2), use_bias=False)],
    "groups": [layers.Conv2D(8, 3, groups=2, activation="sigmoid"), layers.Conv2D(4, 1, groups=4)],
    "pointwise": [layers.Conv2D(filters=7, kernel_size=1, strides=2)],
    "maxima": [layers.MaxPooling2D(pool_size=3, strides=2, padding="same"), layers.MaxPool2D((1, 2))],
    "means": [layers.AveragePooling2D((2, 3), strides=(1, 2), padding="same"), layers.AveragePooling2D(2)],
    "padded": [layers.ZeroPadding2D(((1, 0), (2, 3))), layers.ZeroPadding2D((1, 2)), layers.ZeroPadding2D(1)],
}

results = {}
for name, stack in stacks.items():
    model = Sequential([Input(shape=(15, 12, 4)), *stack, layers.Flatten(), layers.Dense(3)])
    model.set_weights([rng.normal(0, 0.1, w.shape) for w in model.get_weights()])
    model.compile(optimizer="sgd", loss="mse")
    losses = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    results[name] = {"loss": losses, "outputs": np.asarray(model(x)), "weights": model.get_weights()[0]}
