"""CIFAR-10 by a residual network of 20 layers (He et al., 2015), written in the functional API as Keras's guides have it."""
import argparse

import cornu as tf
from cornu import keras
from cornu.keras import layers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--samples", type=int, default=50000, help="how many of the training images")
parser.add_argument("--blocks", type=int, default=3, help="in each of three stages: 3 make 20 layers, 9 make 56")
options = parser.parse_args()

(x_train, y_train), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
x_train, y_train = x_train[:options.samples].astype("float32") / 255, y_train[:options.samples]
x_test = x_test.astype("float32") / 255
mean = x_train.mean(axis=0)
x_train, x_test = x_train - mean, x_test - mean


def resnet_layer(inputs, filters, strides=1, kernel_size=3, activation="relu", normalize=True):
    x = layers.Conv2D(filters, kernel_size, strides=strides, padding="same", kernel_initializer="he_normal")(inputs)
    if normalize:
        x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def resnet(blocks):
    inputs = keras.Input(shape=(32, 32, 3))
    x, filters = resnet_layer(inputs, 16), 16
    for stage in range(3):
        for block in range(blocks):
            strides = 2 if stage > 0 and block == 0 else 1
            y = resnet_layer(x, filters, strides)
            y = resnet_layer(y, filters, activation=None)
            if strides > 1:  # a linear projection, as the shape changes
                x = resnet_layer(x, filters, strides, kernel_size=1, activation=None, normalize=False)
            x = layers.Activation("relu")(layers.add([x, y]))
        filters *= 2
    x = layers.Flatten()(layers.AveragePooling2D(pool_size=8)(x))
    return keras.Model(inputs, layers.Dense(10, activation="softmax", kernel_initializer="he_normal")(x), name="resnet")


def rate(epoch, _):
    return 1e-3 * (1 if epoch <= 80 else 0.1 if epoch <= 120 else 0.01)


model = resnet(options.blocks)
model.summary()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=options.epochs, validation_data=(x_test[:1000], y_test[:1000]),
          callbacks=[keras.callbacks.LearningRateScheduler(rate)])
print("test accuracy", model.evaluate(x_test, y_test, verbose=0)[1])

# A part of the network: the 64 numbers before the classes, of the same weights.
features = keras.Model(model.input, model.layers[-2].output)
print("features of ten images", features.predict(x_test[:10], verbose=0).shape)
