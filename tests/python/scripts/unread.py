"""What nothing reads: an input, and outputs of a model within the model, of which a batch norm keeps its statistics."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(5)
x, y, other = rng.normal(size=(32, 6)), rng.normal(size=(32, 6)), rng.normal(size=(32, 2))

seen = keras.Input((6,), name="seen")
h = layers.Dense(5, activation="relu", name="h")(seen)
mean = layers.Dense(2, name="mean")(h)
spread = layers.Dense(2, name="spread")(layers.BatchNormalization(name="norm")(layers.Dense(4, name="wide")(h)))
z = layers.Dense(2, name="z")(mean)
encoder = keras.Model(seen, [mean, spread, z], name="encoder")
begin, unread, last = keras.Input((6,), name="begin"), keras.Input((2,), name="unread"), keras.Input((2,), name="last")
model = keras.Model([unread, begin, last], layers.Dense(6, name="decoder")(encoder(begin)[2]), name="outer")
model.set_weights([np.abs(rng.normal(size=w.shape)) for w in model.get_weights()])
model.compile(keras.optimizers.AdamW(0.05, weight_decay=0.1), "mse")
history = model.fit([other, x, other], y, batch_size=8, epochs=2, shuffle=False, verbose=0)
results = {"layers": [layer.name for layer in model.layers], "history": history.history, "weights": model.get_weights(),
           "encoded": encoder.predict(x, verbose=0), "inputs": [list(shape[1:]) for shape in model.input_shape]}
model.save("m.keras")
again = keras.models.load_model("m.keras")
results["again"] = again.fit([other, x, other], y, batch_size=8, shuffle=False, verbose=0).history
