"""Three outputs with three metrics each: with the losses 12 numbers besides the loss."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(8)
x, y = rng.random((24, 4)), [rng.random((24, 2)) for _ in range(3)]
given = keras.Input((4,))
model = keras.Model(given, [layers.Dense(2, name=name, kernel_initializer="ones")(given) for name in ("first", "second", "third")])
model.compile(keras.optimizers.SGD(0.01), ["mse", "mae", "mse"], metrics=[["mae", "mse", "binary_accuracy"]] * 3)
history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, validation_split=1 / 3)
results = {"history": dict(sorted(history.history.items())), "evaluate": model.evaluate(x, y, verbose=0),
           "by name": model.evaluate(x, y, verbose=0, return_dict=True), "on batch": model.train_on_batch(x, y)}
model.compile(keras.optimizers.SGD(0.01), "mse", metrics={"second": ["mae", "mse", "mae", "mae"]})
results["twice"] = model.evaluate(x, y, verbose=0, return_dict=True)
results["twice in order"] = model.evaluate(x, y, verbose=0)
