"""The fourth post: photographs of eight kinds, on the GPU, then further on the CPU. Steps and epochs are cut."""
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPool2D
from tensorflow.keras.models import Sequential, load_model
from tensorflow.keras.preprocessing import image
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.python.client import device_lib

print(device_lib.list_local_devices())
info = tf.sysconfig.get_build_info()
print("cuda_version", info["cuda_version"], "cudnn_version", info["cudnn_version"])
train_datagen = ImageDataGenerator(rescale=1. / 255, shear_range=0.2, zoom_range=0.2, rotation_range=20, horizontal_flip=True)
test_datagen = ImageDataGenerator(rescale=1. / 255)
training_set = train_datagen.flow_from_directory("photos/train", target_size=(150, 150), batch_size=8, class_mode="categorical")
test_set = test_datagen.flow_from_directory("photos/test", target_size=(150, 150), batch_size=8, class_mode="categorical")
classifier = Sequential()
classifier.add(Conv2D(32, (3, 3), input_shape=(150, 150, 3), activation="relu"))
classifier.add(MaxPool2D(pool_size=(2, 2)))
classifier.add(Conv2D(64, (3, 3), activation="relu"))
classifier.add(MaxPool2D(pool_size=(2, 2)))
classifier.add(Flatten())
classifier.add(Dense(units=512, activation="relu"))
classifier.add(Dropout(0.2))
classifier.add(Dense(units=64, activation="relu"))
classifier.add(Dropout(0.2))
classifier.add(Dense(units=8, activation="softmax"))
classifier.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["categorical_accuracy"])
assert classifier.count_params() == 42520584
try:
    with tf.device("/GPU:0"):
        history = classifier.fit(training_set, steps_per_epoch=1, epochs=1, validation_data=test_set, validation_steps=1)
except RuntimeError as error:
    print(error)
with tf.device("/CPU:0"):
    history = classifier.fit_generator(training_set, 1, epochs=1, validation_data=test_set, validation_steps=1, workers=12)
assert 1.5 < history.history["loss"][0] < 4 and "val_categorical_accuracy" in history.history
classifier.save("classifier.h5", save_format="h5")
classifier = load_model("classifier.h5")
test_image = image.load_img("photos/test/cat/0.png", target_size=(150, 150, 3))
test_image = np.expand_dims(image.img_to_array(test_image) / 255, axis=0)
result = classifier.predict(test_image)
print({number: name for name, number in training_set.class_indices.items()}[int(np.argmax(result[0]))])
