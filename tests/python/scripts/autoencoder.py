"""An autoencoder with transposed convolutions, and its encoder used alone."""
import numpy as np
from keras import Input, Model, layers

rng = np.random.default_rng(7)
x = rng.random((48, 12, 12, 1), np.float32)
inputs = Input(shape=(12, 12, 1))
e = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
e = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu", name="code")(e)
d = layers.Conv2DTranspose(6, 3, strides=2, padding="same", activation="relu")(e)
d = layers.UpSampling2D(2)(d)
outputs = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(d)
autoencoder, encoder = Model(inputs, outputs), Model(inputs, e)
autoencoder.set_weights([rng.normal(0, 0.2, w.shape) for w in autoencoder.get_weights()])
autoencoder.compile(optimizer="adam", loss="binary_crossentropy")
history = autoencoder.fit(x, x, batch_size=16, epochs=3, shuffle=False, verbose=0).history
results = {"loss": history["loss"], "code": np.asarray(encoder(x)), "pictures": autoencoder.predict(x, verbose=0),
           "parameters": autoencoder.count_params()}
