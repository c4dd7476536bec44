"""Photographs of eight kinds, a folder each for training and for testing, changed at random while they are loaded."""
import argparse

import numpy as np

import cornu as tf
from cornu.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPool2D
from cornu.keras.models import Sequential
from cornu.keras.preprocessing.image import ImageDataGenerator
from cornu.python.client import device_lib

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", help="holds train and test, and they a folder for each class")
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--steps", type=int, default=1000, help="of an epoch")
parser.add_argument("--validation-steps", type=int, default=10)
parser.add_argument("--workers", type=int, default=12)
options = parser.parse_args()

for device in device_lib.list_local_devices():
    print(device.name, device.physical_device_desc)

train_datagen = ImageDataGenerator(rescale=1.0 / 255, shear_range=0.2, zoom_range=0.2, rotation_range=20,
                                   horizontal_flip=True)
test_datagen = ImageDataGenerator(rescale=1.0 / 255)
training_set = train_datagen.flow_from_directory(f"{options.folder}/train", target_size=(150, 150), batch_size=32,
                                                 class_mode="categorical")
test_set = test_datagen.flow_from_directory(f"{options.folder}/test", target_size=(150, 150), batch_size=32,
                                            class_mode="categorical")


def build():
    classifier = Sequential([
        Conv2D(32, (3, 3), input_shape=training_set.image_shape, activation="relu"),
        MaxPool2D(pool_size=(2, 2)),
        Conv2D(64, (3, 3), activation="relu"),
        MaxPool2D(pool_size=(2, 2)),
        Flatten(),
        Dense(units=512, activation="relu"),
        Dropout(0.2),
        Dense(units=64, activation="relu"),
        Dropout(0.2),
        Dense(units=training_set.num_classes, activation="softmax"),
    ])
    classifier.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["categorical_accuracy"])
    return classifier


def train(classifier, first, epochs):
    return classifier.fit(training_set, steps_per_epoch=options.steps, initial_epoch=first, epochs=epochs,
                          validation_data=test_set, validation_steps=options.validation_steps,
                          workers=options.workers)


model = build()
model.summary()
done = 0
for name in ("/GPU:0", "/CPU:0"):  # the second goes on with the first one's weights
    try:
        with tf.device(name):
            history = train(model, done, done + options.epochs)
            done += options.epochs
    except RuntimeError as error:
        print(f"{name} is left out: {error}")
print("validation accuracy:", history.history["val_categorical_accuracy"][-1])

pictures, rows = next(test_set)
names = list(training_set.class_indices)
for guess, truth in list(zip(np.argmax(model.predict(pictures), axis=1), np.argmax(rows, axis=1)))[:8]:
    print(f"{names[guess]}, in truth {names[truth]}")
