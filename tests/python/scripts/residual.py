"""ResNet-20 for CIFAR-10 and a small U-Net, as Keras's guides write them."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(45)
x, y = rng.normal(0, 1, (8, 32, 32, 3)).astype("float32"), rng.integers(0, 10, 8)


def resnet_layer(inputs, filters, strides=1, kernel_size=3, activation="relu", normalize=True):
    t = layers.Conv2D(filters, kernel_size, strides=strides, padding="same", kernel_initializer="he_normal")(inputs)
    if normalize:
        t = layers.BatchNormalization()(t)
    return layers.Activation(activation)(t) if activation else t


def resnet(blocks):
    inputs = keras.Input(shape=(32, 32, 3))
    t, filters = resnet_layer(inputs, 16), 16
    for stage in range(3):
        for block in range(blocks):
            strides = 2 if stage > 0 and block == 0 else 1
            u = resnet_layer(resnet_layer(t, filters, strides), filters, activation=None)
            if strides > 1:
                t = resnet_layer(t, filters, strides, kernel_size=1, activation=None, normalize=False)
            t = layers.Activation("relu")(layers.add([t, u]))
        filters *= 2
    t = layers.Flatten()(layers.AveragePooling2D(pool_size=8)(t))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(t), name="resnet")


def drawn(shape):
    size = int(np.prod(shape[:-1]))
    return rng.normal(0, (2 / size) ** 0.5, shape) if len(shape) > 1 else np.abs(rng.normal(1, 0.1, shape))


def unet():
    inputs = keras.Input(shape=(32, 32, 3))
    first = layers.Conv2D(4, 3, padding="same", activation="relu", name="down_1")(inputs)
    second = layers.Conv2D(6, 3, padding="same", activation="relu", name="down_2")(layers.MaxPooling2D()(first))
    t = layers.Conv2D(8, 3, padding="same", activation="relu", name="bottom")(layers.MaxPooling2D()(second))
    t = layers.Reshape((16, 16, 2))(t)
    t = layers.Conv2D(4, 3, padding="same", activation="relu", name="up_2")(layers.concatenate([second, t]))
    t = layers.Reshape((32, 32, 1))(t)
    return keras.Model(inputs, layers.Conv2D(3, 1, name="up_1")(layers.concatenate([first, t])), name="unet")


results = {}
for model, loss, target in ((resnet(3), "sparse_categorical_crossentropy", y), (unet(), "mse", x / 2)):
    model.set_weights([drawn(w.shape) for w in model.get_weights()])
    results[model.name] = {
        "parameters": model.count_params(), "layers": len(model.layers), "output": model.output.shape,
        "trainable": sum(int(np.prod(w.shape)) for w in model.trainable_weights),
        "kinds": [type(layer).__name__ for layer in model.layers], "shapes": [list(w.shape) for w in model.weights],
        "before": model.predict(x, verbose=0)}
    model.compile("sgd", loss)
    results[model.name]["loss"] = model.fit(x, target, batch_size=4, shuffle=False, verbose=0).history["loss"]
    results[model.name]["after"] = model.predict(x, verbose=0)
