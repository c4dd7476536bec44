"""Cats against dogs with random layers in the model. The two ends of each factor are equal, so that nothing is left to chance;
the pictures are the same from both sides."""
import os

import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(42)
for label, name in enumerate(("cats", "dogs")):
    os.makedirs(f"pets/{name}")
    for number in range(10):
        half = rng.integers(0, 150, (12, 6, 3)) + [60 * label, 50, 80 - 60 * label]
        keras.utils.save_img(f"pets/{name}/{number}.png", np.hstack([half, half[:, ::-1]]).astype("float32"), scale=False)

train_ds = keras.utils.image_dataset_from_directory("pets", image_size=(12, 12), batch_size=5, shuffle=False)
data_augmentation = keras.Sequential([
    layers.RandomFlip("horizontal"),
    layers.RandomRotation((0.05, 0.05)),
    layers.RandomZoom((0.1, 0.1), (-0.2, -0.2), fill_mode="constant"),
    layers.RandomTranslation((0.1, 0.1), (-0.1, -0.1), fill_mode="wrap"),
    layers.RandomBrightness((0.1, 0.1)),
])
inputs = keras.Input(shape=(12, 12, 3))
x = data_augmentation(inputs)
x = layers.Rescaling(1.0 / 255)(x)
x = layers.Conv2D(6, 3, strides=2, activation="relu")(x)
x = layers.Dropout(0.0)(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, layers.Dense(1)(x))
model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(train_ds, validation_data=train_ds, epochs=3, verbose=0)
model.save("pets.keras")
again = keras.models.load_model("pets.keras")

within = keras.Sequential([keras.Input((6, 5, 2)), layers.Conv2D(2, 3, padding="same", trainable=False),
                           layers.RandomZoom((0.3, 0.3), interpolation="nearest", fill_mode="nearest"),
                           layers.RandomContrast((0.0, 0.0), value_range=(-1, 1)), layers.Flatten(), layers.Dense(1)])
within.set_weights([rng.normal(0, 0.5, w.shape) for w in within.get_weights()])
within.compile(optimizer="sgd", loss="mse")
numbers = rng.random((8, 6, 5, 2), np.float32), rng.random((8, 1), np.float32)

results = {"history": history.history, "outputs": model.predict(train_ds, verbose=0), "parameters": model.count_params(),
           "again": again.predict(train_ds, verbose=0), "evaluated": again.evaluate(train_ds, verbose=0),
           "within": within.fit(*numbers, epochs=3, shuffle=False, batch_size=4, verbose=0).history}

crop = layers.RandomCrop(8, 6, seed=1).get_config()
results["crop"] = [crop["height"], crop["width"]]

# Colours, called on arrays: with one value in each factor, and with probabilities of 1 and 0.
pixels = rng.random((3, 6, 5, 3), np.float32)
colors = [layers.RandomInvert((1.0, 1.0), (0, 1)), layers.RandomGrayscale(1.0), layers.RandomPosterization((2, 2), (0, 1)),
          layers.RandomColorDegeneration((0.4, 0.4), (0, 1)), layers.RandomSaturation((0.6, 0.6), (0, 1)), layers.RandomHue((1.0, 1.0), (0, 1)),
          layers.RandomSharpness((0.9, 0.9), (0, 1)), layers.Solarization(value_range=(0, 1)), layers.AutoContrast((0, 1)),
          layers.RandomErasing((1.0, 1.0), (1.0, 1.0), (0.1, 0.2, 0.3), (0, 1)),
          layers.RandomColorJitter((0, 1), (0.1, 0.1), (0.0, 0.0), (0.4, 0.4), (1.0, 1.0)),
          layers.Resizing(4, 7), layers.Resizing(9, 3, "nearest"), layers.Resizing(3, 3, crop_to_aspect_ratio=True),
          layers.Resizing(8, 4, pad_to_aspect_ratio=True, fill_value=0.5), layers.CenterCrop(3, 4), layers.CenterCrop(7, 3),
          layers.RandomShear(0.0, 0.0)]
for layer in colors:
    name = layer.name.rstrip("_0123456789")
    results[f"{name} {colors.index(layer)}"] = np.asarray(layer(pixels, training=True))
    results[f"{name} {colors.index(layer)}, one"] = np.asarray(layer(pixels[0]))
    results[f"{name} {colors.index(layer)}, not in training"] = np.asarray(layer(pixels, training=False))
bytes_ = np.round(pixels * 255)
on_data = [layers.Equalization(), layers.Equalization((0, 500), bins=64), layers.RandomGaussianBlur((1.0, 1.0), 5, (0.7, 0.7)),
           layers.RandomGaussianBlur((1.0, 1.0), (3, 5), (0.9, 0.9)), layers.RandomGaussianBlur((0.0, 0.0)), layers.RandAugment(num_ops=0),
           layers.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 3)), layers.CutMix(seed=3)]
for layer in on_data:
    name = layer.name.rstrip("_0123456789")
    results[f"{name} {on_data.index(layer)}"] = np.asarray(layer(bytes_[:1]))
    results[f"{name} {on_data.index(layer)}, not in training"] = np.asarray(layer(bytes_, training=False))
within = keras.Sequential([keras.Input((6, 5, 3)), layers.RandomTranslation((0.4, 0.4), (-0.2, -0.2)), layers.Dropout(0.5)])
results["called"] = [np.asarray(within(pixels)), np.asarray(within(pixels, training=False)), within.predict(pixels, verbose=0)]
results["dictionary"] = [np.asarray(v) for _, v in sorted(layers.RandomInvert((1.0, 1.0))({"images": pixels, "labels": np.eye(3)}).items())]
