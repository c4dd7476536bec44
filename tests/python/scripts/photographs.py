"""A folder a class: flow_from_directory in the manner of cats against dogs, in order and without random changes."""
import os

import numpy as np
from tensorflow.keras.layers import Conv2D, Dense, Flatten, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.image import ImageDataGenerator, array_to_img

rng = np.random.default_rng(28)
for part, count in (("train", 8), ("test", 5)):
    for label, name in enumerate(("cats", "dogs", "owls")):
        os.makedirs(f"{part}/{name}")
        for number in range(count):
            pixels = rng.integers(0, 120, (12, 14, 3)) + [40 * label, 100 - 40 * label, 10]
            array_to_img(pixels.astype("float32"), scale=False).save(f"{part}/{name}/{number}.png")

train_datagen = ImageDataGenerator(rescale=1.0 / 255)
test_datagen = ImageDataGenerator(rescale=1.0 / 255)
training_set = train_datagen.flow_from_directory("train", target_size=(12, 12), batch_size=8, class_mode="categorical",
                                                 shuffle=False)
test_set = test_datagen.flow_from_directory("test", target_size=(12, 12), batch_size=8, class_mode="categorical",
                                            shuffle=False)

cnn = Sequential()
cnn.add(Conv2D(filters=6, kernel_size=3, activation="relu", input_shape=[12, 12, 3]))
cnn.add(MaxPooling2D(pool_size=2, strides=2))
cnn.add(Flatten())
cnn.add(Dense(units=8, activation="relu"))
cnn.add(Dense(units=3, activation="softmax"))
cnn.set_weights([rng.normal(0, 0.2, w.shape) for w in cnn.get_weights()])
cnn.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["categorical_accuracy"])
history = cnn.fit(x=training_set, validation_data=test_set, epochs=3, shuffle=False)
few = cnn.fit(training_set, steps_per_epoch=2, validation_data=test_set, validation_steps=1, shuffle=False)
names = {number: name for name, number in training_set.class_indices.items()}
predicted = [names[number] for number in np.argmax(cnn.predict(test_set), axis=1)]

results = {"history": history.history, "few": few.history, "evaluated": cnn.evaluate(test_set), "predicted": predicted,
           "classes": test_set.classes, "indices": training_set.class_indices, "files": test_set.filenames,
           "shape": training_set.image_shape, "counts": [training_set.samples, test_set.n, test_set.num_classes]}
