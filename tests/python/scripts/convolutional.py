"""Images in color: convolutions and pooling by add(), validated on test data."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers, models

rng = np.random.default_rng(2)
images, labels = rng.random((96, 14, 14, 3), np.float32), rng.integers(0, 5, (96, 1))
test_images, test_labels = images[:32], labels[:32]

model = models.Sequential()
model.add(layers.Conv2D(8, (3, 3), activation="relu", input_shape=(14, 14, 3)))
model.add(layers.MaxPooling2D((2, 2)))
model.add(layers.Conv2D(6, (3, 3), activation="relu"))
model.add(layers.Flatten())
model.add(layers.Dense(16, activation="relu"))
model.add(layers.Dense(5))
model.set_weights([rng.normal(0, 0.1, w.shape) for w in model.get_weights()])

model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(images, labels, epochs=3, validation_data=(test_images, test_labels), shuffle=False, verbose=2)
test_loss, test_acc = model.evaluate(test_images, test_labels, verbose=0)

results = {"history": history.history, "test_loss": test_loss, "test_acc": test_acc,
           "outputs": model.predict(test_images, verbose=0), "weights": model.get_weights(),
           "shapes": [model.input_shape[1:], model.output_shape[1:]], "parameters": model.count_params()}
