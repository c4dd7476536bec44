"""tf.data and TensorFlow's functions on arrays; the script data_pipeline.py holds them against TensorFlow's own."""
import numpy as np
import pytest

import cornu as tf
from cornu import keras

Dataset = tf.data.Dataset


def shown(dataset):
    return [np.asarray(part).tolist() if not isinstance(part, tuple) else [np.asarray(one).tolist() for one in part]
            for part in dataset.as_numpy_iterator()]


def line():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def arrays():
    rng = np.random.default_rng(7)
    return rng.random((10, 2), np.float32), rng.random((10, 1), np.float32)


def test_what_the_library_can_do_alone_stays_there(arrays, monkeypatch):
    monkeypatch.setattr(keras._data.Stream, "_items", None)
    x, y = arrays
    data = Dataset.from_tensor_slices((x, y))
    expected = line().fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history
    assert line().fit(data.batch(4).prefetch(2).cache(), epochs=2, verbose=0).history == expected
    model = line()
    model.fit(data.shuffle(10, seed=3).batch(4), verbose=0)
    assert model.evaluate(data.batch(4), verbose=0) == pytest.approx(model.evaluate(x, y, verbose=0))


def test_a_factor_of_bytes_is_the_librarys(monkeypatch):
    x, y = np.arange(40, dtype=np.uint8).reshape(20, 2), np.arange(20, dtype=np.float32)
    whole = Dataset.from_tensor_slices((x, y))
    monkeypatch.setattr(keras._data.Stream, "_items", None)
    expected = line().fit(x / np.float32(255), y, batch_size=8, shuffle=False, verbose=0).history["loss"]
    for scaled in (lambda a, b: (tf.cast(a, tf.float32) / 255.0, b), lambda a, b: (a / 255, b),
                   lambda a, b: (1 / 255 * tf.cast(a, "float32"), b)):
        for data in (whole.map(scaled).batch(8), whole.batch(8).map(scaled, num_parallel_calls=2)):
            assert data._arrays.scale == pytest.approx(1 / 255)
            assert line().fit(data, verbose=0).history["loss"] == pytest.approx(expected, rel=1e-5)
    assert whole.map(lambda a, b: (tf.cast(a, tf.int32), b))._arrays is None


@pytest.mark.parametrize("function", [
    lambda a, b: (a / 255, b + 1), lambda a, b: (a + 1, b), lambda a, b: (b, a), lambda a, b: (a / 0, b), lambda a, b: a,
    lambda a, b: (tf.image.flip_left_right(a), b)])
def test_other_functions_are_pythons(function):
    data = Dataset.from_tensor_slices((np.zeros((4, 2, 2, 1), np.uint8), np.zeros(4, np.float32)))
    assert data.map(function)._arrays is None


def test_what_the_library_batches_otherwise_is_pythons(arrays):
    data = Dataset.from_tensor_slices(arrays)
    assert data.batch(4, drop_remainder=True)._arrays is None and data.batch(5, drop_remainder=True)._arrays is not None
    assert data.batch(4).batch(2)._arrays is None and data.shuffle(5).batch(4)._arrays is None
    assert data.batch(4).shuffle(10)._arrays is None and Dataset.from_tensor_slices(arrays[0]).batch(2)._arrays is None


def test_a_shuffle_is_that_of_its_seed():
    numbers = Dataset.range(30)
    data = numbers.shuffle(30, seed=1)
    first, second = shown(data), shown(data)
    assert sorted(first) == list(range(30)) and first != second and first != list(range(30))
    assert shown(numbers.shuffle(30, seed=1)) == first
    kept = numbers.shuffle(30, seed=1, reshuffle_each_iteration=False)
    assert shown(kept) == shown(kept)
    assert max(n - place for place, n in enumerate(shown(numbers.shuffle(3)))) <= 2
    tf.random.set_seed(4)
    once = shown(numbers.shuffle(30))
    tf.random.set_seed(4)
    assert shown(numbers.shuffle(30)) == once


def test_functions_run_by_several_threads_in_order():
    data = Dataset.range(50).map(lambda n: n * 2, num_parallel_calls=4)
    assert shown(data) == list(range(0, 100, 2))
    bad = Dataset.range(50).map(lambda n: 1 // int(n - 7), num_parallel_calls=tf.data.AUTOTUNE)
    with pytest.raises(ZeroDivisionError):
        shown(bad)


def test_a_cache_is_of_one_whole_pass():
    calls = []
    data = Dataset.range(4).map(lambda n: calls.append(1) or n).cache()
    assert shown(data.take(2)) == [0, 1] and len(calls) <= 3
    calls.clear()
    assert shown(data) == shown(data) == [0, 1, 2, 3] and len(calls) == 4


def test_cardinalities():
    numbers = Dataset.range(7)
    assert [int(d.cardinality()) for d in (
        numbers, numbers.repeat(), numbers.repeat(2), numbers.take(3), numbers.skip(9), numbers.batch(2), numbers.take(-1),
        numbers.batch(2, drop_remainder=True), numbers.filter(bool), numbers.concatenate(numbers), numbers.shard(3, 1),
        Dataset.zip((numbers, numbers.repeat())), numbers.enumerate(), numbers.repeat().take(5))] == [
        7, -1, 14, 3, 0, 4, 7, 3, -2, 14, 2, 7, 7, 5]
    for data, told in ((numbers.repeat(), "infinite"), (numbers.filter(bool), "unknown")):
        with pytest.raises(TypeError, match=told):
            len(data)


@pytest.mark.parametrize("error, told, use", [
    (ValueError, "rows; expected as many", lambda: Dataset.from_tensor_slices(([1, 2], [3]))),
    (ValueError, "batch_size: found 0", lambda: Dataset.range(3).batch(0)),
    (ValueError, "buffer_size: found 0", lambda: Dataset.range(3).shuffle(0)),
    (ValueError, r"shapes \(1,\), \(2,\)", lambda: list(Dataset.range(1, 3).map(lambda n: np.zeros(int(n))).batch(2))),
    (TypeError, "expected a tf.data.Dataset", lambda: list(Dataset.range(3).flat_map(lambda n: n))),
    (TypeError, "expected a tf.data.Dataset", lambda: Dataset.zip((Dataset.range(3), [1, 2]))),
    (TypeError, "must be specified", lambda: Dataset.from_generator(lambda: iter([1]))),
    (TypeError, "must be a Python callable", lambda: Dataset.from_generator([1], output_types=tf.int32)),
    (TypeError, r"shape \(2,\); expected \(3,\)",
     lambda: list(Dataset.from_generator(lambda: iter([[1, 2]]), output_signature=tf.TensorSpec((3,), tf.int32)))),
    (NotImplementedError, "a file, 'kept'", lambda: Dataset.range(3).cache("kept")),
    (ValueError, "shard: found index 3 of 3", lambda: Dataset.range(3).shard(3, 3)),
    (ValueError, "more than one", lambda: Dataset.range(3).get_single_element()),
    (ValueError, "found no file", lambda: Dataset.list_files("/nowhere/*.png")),
    (NotImplementedError, "cornu.data.TFRecordDataset is not in cornu", lambda: tf.data.TFRecordDataset),
    (NotImplementedError, "method='bicubic'", lambda: tf.image.resize(np.zeros((4, 4, 3)), (2, 2), method="bicubic")),
    (NotImplementedError, "antialias=True", lambda: tf.image.resize(np.zeros((4, 4, 3)), (2, 2), antialias=True)),
    (ValueError, r"expected \(height, width, channels\)", lambda: tf.image.resize(np.zeros((4, 4)), (2, 2))),
    (ValueError, "expected a part of it", lambda: tf.image.crop_to_bounding_box(np.zeros((4, 4, 3)), 2, 0, 3, 1)),
    (ValueError, "expected a part of it", lambda: tf.image.random_crop(np.zeros((4, 4, 3)), (5, 4, 3))),
    (NotImplementedError, "ops.argmax: of tensors|argmax", lambda: tf.argmax(keras.Input((3,)))),
    (NotImplementedError, "ops.image.resize", lambda: tf.image.resize(keras.Input((4, 4, 3)), (2, 2))),
    (TypeError, "expected the bytes of a file", lambda: tf.io.decode_png(3)),
    (NotImplementedError, "channels=4", lambda: tf.io.decode_png(b"", channels=4)),
    (NotImplementedError, "batch_dims", lambda: tf.gather([1, 2], [0], batch_dims=1)),
    (ValueError, "set_shape: found a tensor of shape", lambda: tf.zeros((2, 3)).set_shape((3, 2))),
])
def test_what_cannot_be_says_why(error, told, use):
    with pytest.raises(error, match=told):
        use()


def test_tensors_are_arrays_with_methods_of_their_own():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(x, np.ndarray) and isinstance(x, tf.Tensor) and type(x.numpy()) is np.ndarray
    assert x.shape.as_list() == [2, 2] and x.shape.rank == 2 and x.get_shape() == (2, 2) and x.dtype == tf.float32
    total = tf.reduce_sum(x)
    assert type(total.numpy()) is np.float32 and float(total) == 10 and f"{total:.1f}" == "10.0" and bool(total > 9)
    assert (x[0] * 2 + 1).numpy().tolist() == [3, 5] and (tf.constant(1) + 1).dtype == tf.int32
    assert [row.numpy().tolist() for row in x] == [[1, 2], [3, 4]]
    assert repr(tf.constant(2)) == "<tf.Tensor: shape=(), dtype=int32, numpy=2>"
    assert tf.constant("a").numpy() == b"a" and tf.constant(["a", "b"])[1].numpy() == b"b"
    assert tf.cast([1.9, -1.9], tf.int32).numpy().tolist() == [1, -1] and tf.cast(2, tf.bool).numpy()
    assert tf.constant(3, shape=(2,)).numpy().tolist() == [3, 3]


def test_functions_of_tensors_without_numbers_are_layers():
    begin = keras.Input((4,))
    model = keras.Model(begin, tf.concat([tf.square(begin), tf.reduce_mean(begin, axis=1, keepdims=True) * 2.0], axis=1))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert np.allclose(model.predict(x, verbose=0), np.concatenate([x * x, x.mean(1, keepdims=True) * 2], 1))


def test_losses_may_be_written_with_them(arrays):
    def loss(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)

    model = line()
    expected = model.evaluate(*arrays, verbose=0)
    model.compile("sgd", loss)
    assert model.evaluate(*arrays, verbose=0) == pytest.approx(expected)


def test_pythons_functions_in_pipelines():
    data = Dataset.range(3).map(lambda n: tf.py_function(lambda x: x.numpy() * 0.5, [n], tf.float32))
    assert shown(data) == [0, 0.5, 1]
    two = Dataset.range(2).map(lambda n: tf.numpy_function(lambda x: (x, x + 1), [n], [tf.int64, tf.float32]))
    assert shown(two) == [[0, 1], [1, 2]]
    assert tf.function(lambda x: x)(3) == 3 and tf.function()(lambda x: x)(3) == 3


def test_random_numbers_follow_the_seed():
    tf.random.set_seed(1)
    first = tf.random.uniform((3,)).numpy(), tf.random.normal((2, 2)).numpy(), tf.random.shuffle([1, 2, 3, 4]).numpy()
    tf.random.set_seed(1)
    again = tf.random.uniform((3,)).numpy(), tf.random.normal((2, 2)).numpy(), tf.random.shuffle([1, 2, 3, 4]).numpy()
    assert all(np.array_equal(a, b) for a, b in zip(first, again)) and first[0].dtype == np.float32
    assert sorted(first[2]) == [1, 2, 3, 4] and 0 <= tf.random.uniform((), 0, 5, tf.int32).numpy() < 5
    with pytest.raises(ValueError, match="no maxval"):
        tf.random.uniform((2,), dtype=tf.int32)


def test_pictures_from_files(tmp_path):
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    path = tmp_path / "a.png"
    keras.utils.save_img(path, pixels, scale=False)
    contents = tf.io.read_file(str(path))
    assert np.array_equal(tf.io.decode_png(contents, channels=3), pixels)
    assert np.array_equal(tf.image.decode_image(contents), pixels) and tf.io.decode_jpeg(contents, channels=1).shape == (4, 4, 1)
    assert tf.io.decode_image(contents, dtype=tf.float32).numpy().max() == pytest.approx(47 / 255)
    tf.io.write_file(str(tmp_path / "b.png"), contents)
    assert (tmp_path / "b.png").read_bytes() == path.read_bytes()
    with pytest.raises((ValueError, OSError)):
        tf.io.decode_png(contents.numpy()[:20])


def test_sets_of_pictures_may_be_beside_others(tmp_path):
    for number in range(4):
        folder = tmp_path / "ab"[number % 2]
        folder.mkdir(exist_ok=True)
        keras.utils.save_img(folder / f"{number}.png", np.full((4, 4, 3), number * 10, np.uint8), scale=False)
    pictures = keras.utils.image_dataset_from_directory(tmp_path, image_size=(4, 4), batch_size=2, shuffle=False, verbose=False)
    both = Dataset.zip((pictures, Dataset.range(2)))
    assert [int(n) for _, n in both] == [0, 1] and next(iter(both))[0][0].shape == (2, 4, 4, 3)
