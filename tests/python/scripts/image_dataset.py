"""image_dataset_from_directory: batches of floats, Rescaling in the model, a part kept for validation."""
import os

import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(29)
for label, name in enumerate(("daisy", "rose", "tulip")):
    os.makedirs(f"flowers/{name}")
    for number in range(8):
        pixels = rng.integers(0, 130, (10, 10, 3)) + [40 * label, 60, 90 - 40 * label]
        keras.utils.save_img(f"flowers/{name}/{number}.png", pixels.astype("float32"), scale=False)

everything = dict(image_size=(10, 10), batch_size=6, shuffle=False)
train_ds = keras.utils.image_dataset_from_directory("flowers", label_mode="int", **everything)
rows = keras.utils.image_dataset_from_directory("flowers", label_mode="categorical", **everything)
val_ds = keras.utils.image_dataset_from_directory("flowers", validation_split=0.25, subset="validation", seed=3,
                                                  image_size=(10, 10), batch_size=4)
class_names = train_ds.class_names

model = keras.Sequential([
    keras.Input((10, 10, 3)),
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(4, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(len(class_names)),
])
model.set_weights([rng.normal(0, 0.2, w.shape) for w in model.get_weights()])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(train_ds, validation_data=val_ds, epochs=3, verbose=0)
for images, labels in train_ds.take(1):
    first = images.numpy(), labels.numpy()

results = {"history": history.history, "classes": class_names, "images": first[0], "labels": first[1],
           "rows": np.concatenate([np.asarray(y) for _, y in rows]), "length": [len(train_ds), len(val_ds)],
           "outputs": model.predict(train_ds, verbose=0), "evaluated": model.evaluate(train_ds, verbose=0),
           "files": [path.split("flowers/")[-1] for path in val_ds.file_paths]}
