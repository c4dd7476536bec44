"""ImageDataGenerator over arrays: rescaled, split, in order; batches by next and in fit."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.preprocessing.image import ImageDataGenerator

rng = np.random.default_rng(27)
x, y = rng.integers(0, 256, (50, 8, 8, 3)).astype("uint8"), keras.utils.to_categorical(rng.integers(0, 4, 50), 4)

datagen = ImageDataGenerator(rescale=1.0 / 255, validation_split=0.2)
train = datagen.flow(x, y, batch_size=16, shuffle=False, subset="training")
test = datagen.flow(x, y, batch_size=10, shuffle=False, subset="validation")
images, labels = next(train)
train.reset()

model = keras.Sequential([layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 3)),
                          layers.GlobalAveragePooling2D(), layers.Dense(4, activation="softmax")])
model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(train, epochs=3, validation_data=test, shuffle=False, verbose=0)

centered = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
centered.fit(x.astype("float32"))
results = {"images": images, "labels": labels, "n": [train.n, test.n, len(train), len(test)],
           "history": history.history, "evaluated": model.evaluate(test, verbose=0),
           "outputs": model.predict(test, verbose=0),
           "standardized": next(centered.flow(x, batch_size=4, shuffle=False))}
