"""tf.data pipelines: arrays and files of pictures through from_tensor_slices, map, batch and the like into fit."""
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

AUTOTUNE = tf.data.AUTOTUNE
Dataset = tf.data.Dataset
rng = np.random.default_rng(52)
pictures = rng.integers(0, 256, (36, 8, 8, 3)).astype("uint8")
labels = rng.integers(0, 3, 36)
start = [rng.normal(0, 0.1, (192, 3)).astype("float32"), np.zeros(3, "float32")]


def model_of(loss="sparse_categorical_crossentropy"):
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Flatten(), layers.Dense(3, activation="softmax")])
    model.set_weights(start)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.5), loss, metrics=["accuracy"])
    return model


def scaled(picture, label):
    return tf.cast(picture, tf.float32) / 255.0, label


def one_hot(picture, label):
    return tf.image.flip_left_right(picture), tf.one_hot(label, depth=3)


def trained(data, valid, loss="sparse_categorical_crossentropy", **more):
    model = model_of(loss)
    history = model.fit(data, epochs=2, validation_data=valid, verbose=0, **more)
    return [history.history, model.evaluate(valid, verbose=0), model.predict(valid, verbose=0)]


whole = Dataset.from_tensor_slices((pictures, labels))
train, valid = whole.skip(12).map(scaled, num_parallel_calls=AUTOTUNE), whole.take(12).map(scaled)
batches = train.batch(8).prefetch(AUTOTUNE)
results = {"arrays": trained(whole.map(scaled).batch(8), valid.batch(5)), "steps": trained(batches, valid.batch(5)),
           "one_hot": trained(train.map(one_hot).cache().batch(8), valid.map(one_hot).batch(5), "categorical_crossentropy"),
           "endless": trained(batches.repeat(), valid.batch(5), steps_per_epoch=3)}


def rows(count):
    for number in range(count):
        yield pictures[number] / 255.0, labels[number]


signature = (tf.TensorSpec(shape=(8, 8, 3), dtype=tf.float32), tf.TensorSpec(shape=(), dtype=tf.int64))
made = Dataset.from_generator(rows, args=(24,), output_signature=signature)
results["generator"] = trained(made.batch(8), made.take(5).batch(5))

with tempfile.TemporaryDirectory() as folder:
    files = [os.path.join(folder, f"{number}.png") for number in range(12)]
    for file, picture in zip(files, pictures):
        keras.utils.save_img(file, picture, scale=False)

    def read(path, label):
        picture = tf.io.decode_png(tf.io.read_file(path), channels=3)
        return tf.image.resize(picture, (8, 8)) / 255.0, label

    listed = Dataset.list_files(os.path.join(folder, "*.png"), shuffle=False)
    names = Dataset.zip((listed, Dataset.from_tensor_slices(labels[:12])))
    results["files"] = trained(names.map(read).batch(4), names.map(read).take(4).batch(4))

numbers = Dataset.range(20)
series = numbers.window(4, shift=2, drop_remainder=True).flat_map(lambda part: part.batch(4))
turns = Dataset.range(1, 6).interleave(lambda n: Dataset.from_tensors(n).repeat(6), cycle_length=2, block_length=4)
results["numbers"] = [
    [float(n) for n in numbers.filter(lambda n: n % 3 == 0).map(lambda n: n * n)],
    [[int(i), float(x)] for i, x in numbers.take(3).concatenate(numbers.skip(18)).enumerate(start=5)],
    [part.numpy().tolist() for part in series], [int(n) for n in turns.as_numpy_iterator()],
    [list(map(int, x.shape)) for x in numbers.batch(6).unbatch().batch(7, drop_remainder=True)],
    [int(one.cardinality()) for one in (numbers, numbers.repeat(), numbers.filter(lambda n: n > 3), numbers.batch(6), batches)],
    [len(batches), int(numbers.reduce(np.int64(0), lambda state, n: state + n)), sorted(int(n) for n in numbers.shuffle(4))],
]
results["spec"] = repr(batches.element_spec) + repr(made.batch(4).element_spec)
picture = pictures[0]
results["pictures"] = [tf.image.resize(pictures, (5, 11)), tf.image.resize(picture, (20, 4), method="nearest"),
                       tf.image.central_crop(picture, 0.5), tf.image.rgb_to_grayscale(picture), tf.image.rot90(picture),
                       tf.image.resize_with_crop_or_pad(picture, 5, 11), tf.image.adjust_brightness(picture, 0.1),
                       tf.image.adjust_contrast(picture, 1.5), tf.image.convert_image_dtype(picture, tf.float32)]
x = tf.constant([[1.0, 2.0, -3.0], [4.0, 0.5, 6.0]])
results["functions"] = [
    tf.reduce_mean(x), tf.reduce_sum(x, axis=0), tf.reduce_max(x, 1, keepdims=True), tf.argmax(x, axis=1), tf.concat([x, x], 1),
    tf.stack([x, x]), tf.expand_dims(x, -1), tf.squeeze(x[:1]), tf.transpose(x), tf.reshape(x, [3, -1]), tf.cast(x, tf.int32),
    tf.clip_by_value(x, 0.0, 3.0), tf.where(x > 1, x, tf.zeros_like(x)), tf.gather(x, [2, 0], axis=1), tf.tile(x, [1, 2]),
    tf.pad(x, [[1, 0], [0, 2]]), tf.one_hot([1, 0, 5], 3), tf.range(2, 8, 3), tf.linspace(0.0, 1.0, 5), tf.matmul(x, x, transpose_b=True),
    tf.abs(x), tf.square(x), tf.sqrt(tf.abs(x)), tf.exp(x), tf.maximum(x, 1.0), tf.math.log(tf.abs(x)), tf.reverse(x, [1]),
    tf.equal(x, 2.0), tf.logical_and(x > 0, x < 4), tf.shape(x), tf.size(x), tf.rank(x), tf.fill((2, 2), 7), tf.eye(2),
    tf.split(x, 3, axis=1)[1], tf.unstack(x)[1], tf.round(x), tf.sort(x), tf.cumsum(x, axis=1), tf.repeat([1, 2], 2)]
