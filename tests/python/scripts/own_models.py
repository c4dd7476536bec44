"""Models of one's own: a class of keras.Model whose call says what it computes."""
import numpy as np
import keras
from keras import layers, ops

rng = np.random.default_rng(59)
x, y = rng.normal(0, 1, (36, 8, 8, 1)).astype("float32"), rng.integers(0, 3, 36)


class Block(layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, 3, padding="same", activation="relu")
        self.side = layers.Conv2D(filters, 1)

    def call(self, inputs):
        return self.conv(inputs) + self.side(inputs)


class Classifier(keras.Model):
    def __init__(self, classes, **kwargs):
        super().__init__(**kwargs)
        self.begin = Block(4, name="begin")
        self.pool = layers.MaxPooling2D(2)
        self.flat = layers.Flatten()
        self.drop = layers.Dropout(0.0)
        self.end = layers.Dense(classes, activation="softmax")

    def call(self, inputs, training=False):
        inner = self.pool(self.begin(inputs))
        return self.end(self.drop(self.flat(inner), training=training))


class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([layers.Flatten(), layers.Dense(6, activation="relu")])
        self.decoder = keras.Sequential([layers.Dense(64, activation="sigmoid"), layers.Reshape((8, 8, 1))])

    def call(self, inputs):
        return self.decoder(self.encoder(inputs))


results = {}
for name, model, targets, loss in (("classifier", Classifier(3), y, "sparse_categorical_crossentropy"),
                                   ("autoencoder", Autoencoder(), ops.convert_to_numpy(1 / (1 + np.exp(-x))), "mse")):
    model(x[:1])
    draw = np.random.default_rng(60)
    model.set_weights([draw.normal(0, 0.3, w.shape) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.1), loss)
    history = model.fit(x, targets, batch_size=12, epochs=3, shuffle=False, verbose=0, validation_data=(x[:9], targets[:9])).history
    results[name] = [history, model.evaluate(x, targets, verbose=0), [list(w.shape) for w in model.get_weights()], model.count_params()]
    results[f"{name}, outputs"] = model.predict(x, verbose=0)
results["encoded"] = model.encoder.predict(x, verbose=0)
