"""What a model says of itself: layers, shapes and parameters, in the summary's lines and as numbers."""
import re

import keras
from keras import layers

model = keras.Sequential([
    keras.Input(shape=(28, 28, 1)),
    layers.Conv2D(32, kernel_size=(3, 3), activation="relu", name="conv"),
    layers.BatchNormalization(name="norm"),
    layers.MaxPooling2D(pool_size=(2, 2), name="pool"),
    layers.Flatten(name="flatten"),
    layers.Dropout(0.5, name="dropout"),
    layers.Dense(10, activation="softmax", name="classes"),
])
lines = []
model.summary(print_fn=lines.append)
text = "\n".join(lines)
rows = re.findall(r"(\w+) \((\w+)\)[^\n(]*\((None(?:, \d+)+)\)\D*?([\d,]+)", text)
totals = re.findall(r"(Total|Trainable|Non-trainable) params: ([\d,]+)", text)

results = {"rows": [" ".join(row) for row in rows], "totals": [" ".join(total) for total in totals],
           "layers": [layer.name for layer in model.layers], "parameters": model.count_params(),
           "shapes": [weight.shape for weight in model.weights], "names": [weight.name for weight in model.weights],
           "built": model.built, "output": model.output_shape[1:], "units": model.layers[-1].units}
