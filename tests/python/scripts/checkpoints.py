"""ModelCheckpoint: which epochs are kept, and what the best is worth; CSVLogger's table beside it."""
import csv
import os

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(15)
x = rng.random((128, 10), np.float32)
y = (x @ rng.random((10, 2)) + 0.1).astype("float32")

model = keras.Sequential([keras.Input((10,)), layers.Dense(8, activation="relu"), layers.Dense(2)])
model.set_weights([rng.normal(0, 0.1, w.shape) for w in model.get_weights()])
model.compile(optimizer=keras.optimizers.SGD(0.3, momentum=0.9), loss="mse")
callbacks = [
    keras.callbacks.ModelCheckpoint("best.keras", monitor="loss", save_best_only=True),
    keras.callbacks.ModelCheckpoint(filepath="epoch-{epoch:02d}.keras", monitor="loss", save_best_only=True,
                                    initial_value_threshold=0.5),
    keras.callbacks.ModelCheckpoint("last.weights.h5", save_weights_only=True),
    keras.callbacks.CSVLogger("log.csv"),
]
history = model.fit(x, y, epochs=8, batch_size=32, shuffle=False, verbose=0, callbacks=callbacks,
                    validation_split=0.25)
model.fit(x, y, epochs=2, shuffle=False, verbose=0, callbacks=[keras.callbacks.CSVLogger("log.csv", append=True)])

with open("log.csv") as file:
    table = list(csv.DictReader(file))
best = keras.models.load_model("best.keras")
kept = sorted(name.split(".")[0] for name in os.listdir(".") if name.startswith("epoch-"))
model.load_weights("last.weights.h5")
results = {
    "history": history.history, "kept": kept, "best": best.evaluate(x, y, verbose=0),
    "last": model.predict(x, verbose=0), "columns": list(table[0]), "losses": [float(row["loss"]) for row in table],
    "epochs": [row["epoch"] for row in table], "no validation": table[-1]["val_loss"],
}
