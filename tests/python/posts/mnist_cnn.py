"""The third post: MNIST by convolutions, with what it says of the build. Data and epochs are cut."""
import tensorflow as tf
from tensorflow.keras.datasets import mnist
from tensorflow.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

sys_details = tf.sysconfig.get_build_info()
print("CUDA", sys_details["cuda_version"], "cuDNN", sys_details["cudnn_version"], tf.test.gpu_device_name())
(x_train, y_train), (x_test, y_test) = mnist.load_data()
x_train = x_train.reshape(x_train.shape[0], 28, 28, 1).astype("float32") / 255
x_test = x_test.reshape(x_test.shape[0], 28, 28, 1).astype("float32") / 255
y_train, y_test = to_categorical(y=y_train, num_classes=10), to_categorical(y=y_test, num_classes=10)


def network(convolutions, size):
    model = Sequential()
    for filters in (32, 64):
        for number in range(convolutions):
            more = {"input_shape": (28, 28, 1)} if not model.layers else {}
            model.add(Conv2D(filters, kernel_size=(size, size), padding="same", activation="relu", **more))
        model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Flatten())
    model.add(Dense(1024, activation="relu"))
    model.add(Dropout(rate=0.5))
    model.add(Dense(10, activation=tf.nn.softmax))
    model.compile(loss=tf.keras.losses.categorical_crossentropy, optimizer=tf.keras.optimizers.Adam(), metrics=["accuracy"])
    return model


for model, parameters in ((network(1, 5), 3274634), (network(2, 3), 3287530)):
    assert model.count_params() == parameters
    history = model.fit(x_train, y_train, batch_size=50, epochs=2, verbose=1, validation_data=(x_test, y_test))
    assert 2 < history.history["loss"][0] < 3 and "val_accuracy" in history.history
    score = model.evaluate(x_test, y_test, verbose=0)
    print("Test loss:", score[0], "Test accuracy:", score[1])
