"""Pictures: folders of them, generators, data sets, single files."""
import io
import json
import os
import pickle
import shutil
import struct
import threading

import numpy as np
import pytest

import cornu
from cornu import _cornu, keras
from cornu.keras.preprocessing.image import ImageDataGenerator, array_to_img, img_to_array, load_img, save_img

NAMES = ("cat", "dog", "eel")
EACH = 6


def colour_of(label: int, number: int) -> np.ndarray:
    """A picture of 8 x 10 whose bytes tell which it is."""
    x = np.full((8, 10, 3), 20 * number + 3, np.uint8)
    x[:, :, label] = 200
    x[0, 0] = (label, number, 7)
    return x


def write(path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_img(path, pixels, scale=False)


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """Three classes of six pictures; two in a folder inside, and files that are none beside them."""
    root = tmp_path_factory.mktemp("made") / "pets"
    for label, name in enumerate(NAMES):
        for number in range(EACH):
            write(root / name / ("b" if number > 3 else "") / f"{number}.png", colour_of(label, number))
    (root / "cat" / "notes.txt").write_text("no picture")
    (root / "readme.png").write_bytes(b"beside the classes")
    return root


@pytest.fixture
def folder(pets, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(pets, tmp_path / "pets")


def cut_off(path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def model_for(shape, outputs=3, loss="categorical_crossentropy", section="{}"):
    """The library's model as fit has it."""
    activation = "softmax" if outputs > 1 else "sigmoid"
    recipe = {"data": json.loads(section), "model": {"input": list(shape), "layers": [
        "Flatten", {"Dense": {"units": outputs, "activation": activation}}]},
        "compile": {"optimizer": {"adam": {"learning_rate": 0.01}}, "loss": loss, "metrics": ["accuracy"]}}
    handle = _cornu.parse(json.dumps(recipe), "test")
    handle.initialize(3)
    return handle


def run(handle, data, **fit) -> dict:
    section = {"batch_size": 4, "epochs": 6, "seed": 5, **fit}
    return handle.fit(data, None, section=json.dumps(section))


# ---- folders


def test_flow_from_directory_finds_what_keras_finds(folder, capsys):
    flow = ImageDataGenerator().flow_from_directory(folder, target_size=(8, 10), batch_size=4, shuffle=False)
    assert capsys.readouterr().out == "Found 18 images belonging to 3 classes.\n"
    assert flow.n == flow.samples == 18 and flow.num_classes == 3 and len(flow) == 5
    assert flow.class_indices == {"cat": 0, "dog": 1, "eel": 2}
    assert flow.classes.dtype == np.int32 and list(flow.classes) == [0] * 6 + [1] * 6 + [2] * 6
    assert flow.filenames[:6] == ["cat/0.png", "cat/1.png", "cat/2.png", "cat/3.png", "cat/b/4.png", "cat/b/5.png"]
    assert flow.filepaths[6] == str(folder / "dog" / "0.png")
    assert flow.image_shape == (8, 10, 3) and flow.batch_size == 4 and flow.batch_index == 0


def test_batches_hold_the_pictures_and_their_classes(folder):
    flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, (8, 10), batch_size=5, shuffle=False)
    seen = []
    for number in range(len(flow)):
        x, y = next(flow)
        assert x.dtype == y.dtype == np.float32 and x.shape[1:] == (8, 10, 3) and y.shape == (len(x), 3)
        seen += [(np.argmax(target), round(float(picture[0, 0, 1]) * 255)) for picture, target in zip(x, y)]
        assert np.allclose(x[0] * 255, colour_of(*map(int, seen[-len(x)])), atol=1e-3)
    assert seen == [(label, number) for label in range(3) for number in range(EACH)]
    assert flow.batch_index == 0 and len(next(flow)[0]) == 5  # another pass
    flow.reset()
    assert flow.next()[0][0, 0, 0, 1] == 0 and len(flow[3][0]) == 3


@pytest.mark.parametrize("mode, shape, dtype", [("categorical", (4, 3), "float32"), ("binary", (4,), "float32"),
                                                ("sparse", (4,), "float32")])
def test_class_modes(folder, mode, shape, dtype):
    flow = ImageDataGenerator().flow_from_directory(folder, (4, 4), class_mode=mode, batch_size=4, color_mode="grayscale")
    x, y = next(flow)
    assert x.shape == (4, 4, 4, 1) and y.shape == shape and y.dtype == dtype


def test_no_classes_and_pictures_as_targets(folder):
    x = next(ImageDataGenerator().flow_from_directory(folder, (4, 4), class_mode=None, batch_size=4))
    assert isinstance(x, np.ndarray)
    x, y = next(ImageDataGenerator().flow_from_directory(folder, (4, 4), class_mode="input", batch_size=4))
    assert np.array_equal(x, y) and x is not y


def test_classes_chosen_and_in_the_given_order(folder):
    flow = ImageDataGenerator().flow_from_directory(folder, (4, 4), classes=["eel", "cat"])
    assert flow.class_indices == {"eel": 0, "cat": 1} and flow.samples == 12 and flow.filenames[0] == "eel/0.png"


def test_subsets_share_no_file(folder):
    generator = ImageDataGenerator(validation_split=0.34)
    train = generator.flow_from_directory(folder, (4, 4), subset="training")
    test = generator.flow_from_directory(folder, (4, 4), subset="validation")
    assert test.filenames == [f"{n}/{i}.png" for n in NAMES for i in range(2)]
    assert sorted(train.filenames + test.filenames) == sorted(
        ImageDataGenerator().flow_from_directory(folder, (4, 4)).filenames)


def test_a_seed_gives_the_same_batches_and_no_seed_follows_numpy(folder):
    def batches(seed):
        flow = ImageDataGenerator(rotation_range=40, horizontal_flip=True).flow_from_directory(folder, (8, 10), seed=seed)
        return next(flow)[0], next(flow)[0]

    first, again, other = batches(3), batches(3), batches(4)
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[0], other[0])
    np.random.seed(1)
    one = batches(None)
    np.random.seed(1)
    assert np.array_equal(one[0], batches(None)[0])


def test_a_seed_leaves_numpys_own_numbers_alone(folder):
    np.random.seed(11)
    expected = np.random.random()
    np.random.seed(11)
    next(ImageDataGenerator().flow_from_directory(folder, (4, 4), seed=3))
    assert np.random.random() == expected


def test_what_came_out_is_saved(folder, tmp_path):
    (tmp_path / "out").mkdir()
    flow = ImageDataGenerator().flow_from_directory(folder, (8, 10), batch_size=2, shuffle=False, save_prefix="p",
                                                    save_to_dir=tmp_path / "out")
    next(flow)
    names = sorted(os.listdir(tmp_path / "out"))
    assert [n[:4] for n in names] == ["p_0_", "p_1_"] and all(n.endswith(".png") for n in names)


def test_an_iterator_is_pickled(folder):
    flow = ImageDataGenerator().flow_from_directory(folder, (4, 4), seed=1)
    copy = pickle.loads(pickle.dumps(flow))
    assert np.array_equal(next(flow)[0], next(copy)[0])


def test_threads_share_an_iterator(folder):
    flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, (8, 10), batch_size=3)
    got, errors = [], []

    def work():
        try:
            got.extend(len(next(flow)[0]) for _ in range(12))
        except Exception as error:  # shown below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors and got == [3] * 48


# ---- tables


def table_of(folder) -> dict:
    files = [f"{name}/{number}.png" for number in range(3) for name in NAMES]
    return {"filename": files, "class": [file[:3] for file in files], "weight": np.arange(9) / 2, "age": np.arange(9)}


def test_flow_from_dataframe(folder, capsys):
    table = table_of(folder)
    flow = ImageDataGenerator().flow_from_dataframe(table, folder, target_size=(8, 10), batch_size=5, shuffle=False)
    assert capsys.readouterr().out == "Found 9 validated image filenames belonging to 3 classes.\n"
    assert flow.class_indices == {"cat": 0, "dog": 1, "eel": 2} and flow.filenames == table["filename"] and flow.n == 9
    x, y = next(flow)
    assert np.array_equal(x[4], colour_of(1, 1)) and list(y.argmax(1)) == [0, 1, 2, 0, 1] == flow.classes[:5]
    handle = model_for((8, 10, 3))
    assert run(handle, flow._cornu_data(handle)[0])["accuracy"][-1] > 0.5 and handle.classes() == list(NAMES)


def test_numbers_weights_and_parts_of_a_table(folder):
    def flow(**options):
        return ImageDataGenerator(validation_split=0.34).flow_from_dataframe(
            table_of(folder), folder, **{"target_size": (4, 4), "shuffle": False, **options})

    x, y, weights = next(flow(class_mode="raw", y_col="age", weight_col="weight"))
    assert list(y) == list(range(9)) and list(weights) == [i / 2 for i in range(9)]
    assert next(flow(class_mode="raw", y_col=["age", "weight"]))[1].shape == (9, 2)
    assert flow(subset="validation").n == 3 and flow(subset="training").filenames[0] == "cat/1.png"
    chosen = flow(classes=["eel", "cat"], class_mode="sparse")
    assert list(next(chosen)[1]) == [1, 0] * 3 and next(flow(class_mode=None)).shape == (9, 4, 4, 3)


def test_names_of_no_files_are_ignored_and_told(folder):
    table = {"filename": ["cat/0.png", "cat/nowhere.png", "cat/notes.txt"], "class": ["a", "b", "b"]}
    with pytest.warns(UserWarning, match="Found 2 invalid image filename"):
        assert ImageDataGenerator().flow_from_dataframe(table, folder).class_indices == {"a": 0}


# ---- changes


PICTURE = np.random.default_rng(2).integers(0, 256, (1, 9, 9, 3)).astype(np.uint8)


def changed(**options):
    return next(ImageDataGenerator(**options).flow(PICTURE, batch_size=1, seed=1))[0]


def test_changes_are_the_librarys():
    assert np.array_equal(changed(), PICTURE[0])
    assert any(np.array_equal(next(f)[0], PICTURE[0, :, ::-1]) for f in
               [ImageDataGenerator(horizontal_flip=True).flow(PICTURE, batch_size=1, seed=1)] for _ in range(20))
    shifted = changed(width_shift_range=[3], fill_mode="constant", cval=9)
    assert (shifted[:, :3] == 9).all() or (shifted[:, -3:] == 9).all()
    assert np.allclose(changed(zoom_range=[1, 1], rotation_range=0), PICTURE[0])
    assert not np.allclose(changed(brightness_range=(0.2, 0.3)).mean(), PICTURE.mean(), rtol=0.5)


def test_standardization():
    assert abs(changed(samplewise_center=True).mean()) < 1e-4
    with pytest.warns(UserWarning, match="samplewise_center"):
        x = changed(samplewise_std_normalization=True, rescale=0.5)
    assert abs(x.mean()) < 1e-4 and abs(x.std() - 1) < 1e-4
    with pytest.warns(UserWarning, match="featurewise_center"):
        generator = ImageDataGenerator(featurewise_std_normalization=True, rescale=0.5)
    pictures = np.random.default_rng(1).random((20, 4, 4, 3)).astype(np.float32) * 255
    with pytest.warns(UserWarning, match="no statistics"):
        assert np.allclose(next(generator.flow(pictures, batch_size=20, shuffle=False)), pictures / 2)
    generator.fit(pictures)
    x = next(generator.flow(pictures, batch_size=20))
    assert np.allclose(x.mean((0, 1, 2)), 0, atol=1e-4) and np.allclose(x.std((0, 1, 2)), 1, atol=1e-4)


def test_a_function_of_ones_own_runs_before_the_scale():
    def invert(x):
        assert x.shape == (9, 9, 3) and x.dtype == np.float32
        return 255 - x

    assert np.allclose(changed(preprocessing_function=invert, rescale=0.5), (255 - PICTURE[0].astype(float)) / 2)


def test_random_transform_of_one_picture():
    generator = ImageDataGenerator(rotation_range=90, rescale=1 / 255)
    one, two = generator.random_transform(PICTURE[0], seed=1), generator.random_transform(PICTURE[0], seed=2)
    assert one.shape == (9, 9, 3) and not np.array_equal(one, two) and one.max() > 1
    assert np.array_equal(one, generator.random_transform(PICTURE[0], seed=1))


# ---- arrays


def test_flow_gives_samples_targets_and_weights():
    x, y = np.arange(5 * 4, dtype=np.float32).reshape(5, 2, 2, 1), np.arange(5) * 10
    a, b, w = next(ImageDataGenerator().flow(x, y, batch_size=3, shuffle=False, sample_weight=y / 2))
    assert np.array_equal(a, x[:3]) and np.array_equal(b, [0, 10, 20]) and np.array_equal(w, [0, 5, 10])
    a, b = ImageDataGenerator(validation_split=0.4).flow(x, y % 2, subset="validation", shuffle=False)[0]
    assert np.array_equal(a, x[:2])
    assert isinstance(next(ImageDataGenerator().flow(x, batch_size=2)), np.ndarray)


# ---- fit by the library


def test_fit_finds_all_in_the_library(folder):
    generator = ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    flow = generator.flow_from_directory(folder, (8, 10), batch_size=4)
    handle = model_for((8, 10, 3), section=generator._section())
    data, section = flow._cornu_data(handle)
    assert json.loads(section) == {"scale": 1 / 255, "augment": {"horizontal_flip": True}, "interpolation": "nearest",
                                   "keep_aspect_ratio": False}
    assert data.info()["count"] == (18, 0) and data.info()["shape"] == (8, 10, 3)
    history = run(handle, data)
    assert history["accuracy"][-1] > 0.9 and handle.classes() == list(NAMES)
    assert flow._cornu_data(handle)[0] is data  # decoded once


def test_fit_trains_as_with_the_same_arrays(folder):
    flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, (8, 10), batch_size=18, shuffle=False)
    x, y = next(flow)
    with_files, with_arrays = (model_for((8, 10, 3), section='{"scale": 0.00392156862745098}'), model_for((8, 10, 3)))
    a = run(with_files, flow._cornu_data(with_files)[0], shuffle=False)
    arrays = ImageDataGenerator().flow(x, y)
    b = run(with_arrays, arrays._cornu_data(with_arrays)[0], shuffle=False)
    assert np.allclose(a["loss"], b["loss"], rtol=1e-5)


def test_class_numbers_and_one_output(folder):
    for mode, outputs, loss in (("sparse", 3, "sparse_categorical_crossentropy"), ("binary", 1, "binary_crossentropy")):
        flow = ImageDataGenerator().flow_from_directory(folder, (8, 10), class_mode=mode, classes=["cat", "dog"])
        handle = model_for((8, 10, 3), outputs, loss, '{"scale": 0.004}')
        assert run(handle, flow._cornu_data(handle)[0])["accuracy"][-1] > 0.9


def test_what_needs_python_says_so(folder):
    flows = [ImageDataGenerator(preprocessing_function=np.negative).flow_from_directory(folder, (4, 4)),
             ImageDataGenerator(featurewise_center=True).flow_from_directory(folder, (4, 4)),
             ImageDataGenerator().flow_from_directory(folder, (4, 4), class_mode=None),
             ImageDataGenerator().flow_from_directory(folder, (4, 4), class_mode="input"),
             ImageDataGenerator().flow_from_directory(folder, (4, 4), save_to_dir=folder),
             ImageDataGenerator().flow(PICTURE), ImageDataGenerator().flow(PICTURE, [1], sample_weight=[2])]
    assert not any(hasattr(flow, "_cornu_data") for flow in flows)
    dataset = keras.utils.image_dataset_from_directory(folder)
    assert hasattr(dataset, "_cornu_data") and hasattr(dataset.cache().prefetch(2).shuffle(100), "_cornu_data")
    assert not hasattr(dataset.map(lambda x, y: (x, y)), "_cornu_data") and not hasattr(dataset.take(2), "_cornu_data")


def test_a_model_trains_by_batches_of_ones_own_loop(folder, tmp_path):
    keras.utils.set_random_seed(4)
    model = keras.Sequential([keras.Input((8, 10, 3)), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, (8, 10), batch_size=6)
    for _ in range(20):
        x, y = next(flow)
        model.fit(x, y, verbose=0)
    assert model.evaluate(*flow[0], verbose=0)[1] == 1


# ---- data sets


def test_image_dataset_tells_and_splits_as_keras(folder, capsys):
    train = keras.utils.image_dataset_from_directory(folder, validation_split=0.3, subset="training", seed=7)
    test = keras.preprocessing.image_dataset_from_directory(folder, validation_split=0.3, subset="validation", seed=7)
    assert capsys.readouterr().out == ("Found 18 files belonging to 3 classes.\nUsing 13 files for training.\n"
                                       "Found 18 files belonging to 3 classes.\nUsing 5 files for validation.\n")
    assert train.class_names == list(NAMES) and len(train.file_paths) == 13 and len(train) == 1
    assert not set(train.file_paths) & set(test.file_paths)
    everything = [str(folder / n / ("b" if i > 3 else "") / f"{i}.png") for n in NAMES for i in range(EACH)]
    np.random.RandomState(7).shuffle(everything)
    assert train.file_paths + test.file_paths == everything
    both = keras.utils.image_dataset_from_directory(folder, validation_split=0.3, subset="both", seed=7, verbose=False)
    assert [d.file_paths for d in both] == [train.file_paths, test.file_paths]


@pytest.mark.parametrize("mode, shape, dtype", [("int", (4,), "int32"), ("binary", (4, 1), "float32"),
                                                ("categorical", (4, 2), "float32")])
def test_label_modes(folder, mode, shape, dtype):
    data = keras.utils.image_dataset_from_directory(folder, label_mode=mode, class_names=["dog", "cat"], batch_size=4,
                                                    image_size=(8, 10), shuffle=False)
    for x, y in data.take(1):
        assert x.shape == (4, 8, 10, 3) and x.dtype == np.float32 and y.shape == shape and y.dtype == dtype
        assert np.array_equal(x[0], colour_of(1, 0)) and x[0].numpy().astype("uint8").shape == (8, 10, 3)
    assert len(data) == 3 and [len(x) for x, _ in data] == [4, 4, 4]


def test_no_labels_and_labels_of_ones_own(folder, capsys):
    data = keras.utils.image_dataset_from_directory(folder / "cat", labels=None, shuffle=False, image_size=(8, 10))
    assert capsys.readouterr().out == "Found 6 files.\n" and data.class_names is None
    assert next(iter(data)).shape == (6, 8, 10, 3)
    data = keras.utils.image_dataset_from_directory(folder / "cat", labels=[5, 3, 3, 5, 3, 3], shuffle=False)
    assert data.class_names == ["3", "5"] and list(next(iter(data))[1]) == [5, 3, 3, 5, 3, 3]


def test_methods_of_tf_data(folder):
    data = keras.utils.image_dataset_from_directory(folder, batch_size=4, image_size=(4, 4), shuffle=False)
    assert hasattr(data.cache().prefetch(buffer_size=cornu.data.AUTOTUNE), "_cornu_data")
    scaled = data.map(lambda x, y: (x / 255, y), num_parallel_calls=-1).cache().prefetch(buffer_size=-1)
    assert max(x.max() for x, _ in scaled) <= 1 and len(scaled) == 5
    assert len(data.take(2)) == 2 and sum(len(x) for x, _ in data.take(2)) == 8
    assert len(data.skip(3)) == 2 and sum(len(x) for x, _ in data.skip(3)) == 6
    assert len(data.repeat(3)) == 15 and sum(1 for _ in data.repeat(3)) == 15
    single = data.unbatch()
    assert len(single) == 18 and next(iter(single))[0].shape == (4, 4, 3) and next(iter(single))[1].shape == ()
    again = single.batch(6)
    assert [x.shape for x, _ in again] == [(6, 4, 4, 3)] * 3 and hasattr(again, "_cornu_data")
    mapped = single.map(lambda x, y: (x + 1, y)).shuffle(5, seed=1).batch(5, drop_remainder=True)
    assert [x.shape for x, _ in mapped] == [(5, 4, 4, 3)] * 3 and len(mapped) == 3
    assert sorted(y for _, batch in data.shuffle(100) for y in batch) == [0] * 6 + [1] * 6 + [2] * 6
    assert [type(y) for _, y in data.take(1).as_numpy_iterator()] == [np.ndarray]
    assert sum(1 for _ in data.filter(lambda x, y: bool((y == 0).all()))) == 1
    assert bool(data.shuffle) is False and bool(data.shuffle(10).shuffle) is True
    with pytest.raises(TypeError, match="infinite"):
        len(data.repeat())


def test_another_order_each_pass_where_it_is_shuffled(folder):
    data = keras.utils.image_dataset_from_directory(folder, batch_size=18, image_size=(2, 2), seed=5)
    first, second = (list(y) for _ in range(2) for _, y in data)
    assert first != second and sorted(first) == sorted(second)


def test_a_data_set_trains_in_the_library(folder):
    data = keras.utils.image_dataset_from_directory(folder, batch_size=4, image_size=(8, 10), label_mode="categorical")
    handle = model_for((8, 10, 3), section='{"scale": 0.004}')
    opened, section = data._cornu_data(handle)
    assert json.loads(section) == {"scale": 1, "interpolation": "bilinear_tf", "keep_aspect_ratio": False}
    assert run(handle, opened)["accuracy"][-1] > 0.9


def test_pictures_shrink_as_tensorflow_shrinks_them(tmp_path):
    row = np.array([3, 90, 200, 14, 77, 250, 33], np.uint8).reshape(1, 7, 1)
    write(tmp_path / "a" / "row.png", row)
    for name, expected in (("bilinear", [61, 14, 178]), ("bicubic", [54, 14, 193]), ("nearest", [90, 14, 250])):
        data = keras.utils.image_dataset_from_directory(tmp_path, image_size=(1, 3), interpolation=name,
                                                        color_mode="grayscale", verbose=False)
        x, _ = next(iter(data))
        assert x[0, 0, :, 0].tolist() == expected and x.dtype == (np.uint8 if name == "nearest" else np.float32)


def test_a_fork_reads_for_itself(folder):
    flow = ImageDataGenerator().flow_from_directory(folder, (8, 10), batch_size=5, seed=1)
    next(flow)
    child = os.fork()
    if child == 0:
        right = len(flow[0][0]) == 5
        flow._opened = None  # closes what both have
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(next(flow)[0]) == 5


# ---- single pictures


def test_pictures_are_written_and_read(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    save_img(tmp_path / "a.png", pixels, scale=False)
    picture = load_img(tmp_path / "a.png")
    assert picture.size == (7, 5) and picture.mode == "RGB" and np.array_equal(np.asarray(picture), pixels)
    x = img_to_array(picture)
    assert x.dtype == np.float32 and np.array_equal(x, pixels)
    assert img_to_array(picture, data_format="channels_first").shape == (3, 5, 7)
    assert np.array_equal(np.asarray(load_img(str(tmp_path / "a.png"))), np.asarray(load_img(
        io.BytesIO((tmp_path / "a.png").read_bytes()))))
    grey = load_img(tmp_path / "a.png", color_mode="grayscale", target_size=(2, 3), interpolation="box")
    assert grey.mode == "L" and img_to_array(grey).shape == (2, 3, 1)
    assert load_img(tmp_path / "a.png", target_size=(4, 4), keep_aspect_ratio=True).size == (4, 4)
    memory = io.BytesIO()
    picture.save(memory, format="PNG")
    assert load_img(io.BytesIO(memory.getvalue())) == picture and "7x5" in repr(picture)


def test_arrays_become_pictures():
    x = np.array([[0.0, 1.0], [2.0, 4.0]])[..., None]
    assert np.asarray(array_to_img(x)).tolist() == [[0, 63], [127, 255]]
    assert np.asarray(array_to_img(x, scale=False)).tolist() == [[0, 1], [2, 4]]
    assert array_to_img(np.zeros((3, 2, 2)), data_format="channels_first").mode == "RGB"
    assert array_to_img(x * 100, scale=False).mode == "I"
    assert np.array_equal(img_to_array(array_to_img(np.full((2, 2, 3), 7.0), scale=False)), np.full((2, 2, 3), 7))


def test_old_spellings_are_the_same():
    from cornu.keras.legacy.preprocessing.image import ImageDataGenerator as old
    from cornu.keras.preprocessing import image
    assert old is ImageDataGenerator is image.ImageDataGenerator is cornu.keras.preprocessing.image.ImageDataGenerator
    assert keras.utils.load_img is load_img is image.load_img


# ---- wrong uses


def flow(folder, generator=None, **options):
    return (generator or ImageDataGenerator()).flow_from_directory(folder, **{"target_size": (4, 4), **options})


def dataset(folder, **options):
    return keras.utils.image_dataset_from_directory(folder, **{"image_size": (4, 4), **options})


def fit(folder, shape=(4, 4, 3), outputs=3, loss="categorical_crossentropy", **options):
    return flow(folder, **options)._cornu_data(model_for(shape, outputs, loss))


X = np.zeros((6, 4, 4, 3), np.float32)
WRONG = [
    (FileNotFoundError, "no such folder", lambda f: flow(f / "nowhere")),
    (FileNotFoundError, "no such folder", lambda f: flow(f / "readme.png")),
    (FileNotFoundError, "no such folder", lambda f: dataset(f / "nowhere")),
    (TypeError, "directory", lambda f: ImageDataGenerator().flow_from_directory()),
    (TypeError, "unexpected", lambda f: flow(f, colour_mode="rgb")),
    (TypeError, "height, width", lambda f: flow(f, target_size=64)),
    (ValueError, "height, width", lambda f: flow(f, target_size=(64,))),
    (ValueError, "whole numbers", lambda f: flow(f, target_size=(64, -1))),
    (ValueError, "whole numbers", lambda f: flow(f, target_size=(64.5, 64))),
    (ValueError, "class_mode: found 'categoric'", lambda f: flow(f, class_mode="categoric")),
    (ValueError, "color_mode", lambda f: flow(f, color_mode="gray")),
    (NotImplementedError, "rgba", lambda f: flow(f, color_mode="rgba")),
    (ValueError, "interpolation", lambda f: flow(f, interpolation="cubic")),
    (ValueError, "batch_size", lambda f: flow(f, batch_size=0)),
    (ValueError, "subset", lambda f: flow(f, subset="test")),
    (TypeError, "seed", lambda f: flow(f, seed="a")),
    (TypeError, "classes", lambda f: flow(f, classes="cat")),
    (NotImplementedError, "save_format", lambda f: flow(f, save_to_dir=f, save_format="jpeg")),
    (ValueError, "no samples", lambda f: next(flow(f, ImageDataGenerator(), subset="validation"))),
    (ValueError, "there are 1", lambda f: flow(f)[5]),
    (ValueError, r"pictures of shape \(4, 4, 3\)", lambda f: fit(f, (5, 4, 3))),
    (ValueError, "3 classes; the model has 5", lambda f: fit(f, outputs=5)),
    (ValueError, "takes class numbers, 'sparse'", lambda f: fit(f, loss="sparse_categorical_crossentropy")),
    (ValueError, "'categorical'", lambda f: fit(f, class_mode="sparse")),
    (KeyError, "no column 'filename'", lambda f: ImageDataGenerator().flow_from_dataframe({})),
    (KeyError, "no column 'kind'", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, y_col="kind")),
    (TypeError, "strings", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, x_col="age")),
    (TypeError, "strings", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, y_col="age")),
    (ValueError, "two", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, class_mode="binary")),
    (TypeError, "numbers", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, weight_col="class")),
    (NotImplementedError, "multi_output", lambda f: ImageDataGenerator().flow_from_dataframe(
        table_of(f), f, y_col=["age", "weight"], class_mode="multi_output")),
    (NotImplementedError, "has_ext", lambda f: ImageDataGenerator().flow_from_dataframe(table_of(f), f, has_ext=True)),
    (NotImplementedError, "zca_whitening", lambda f: ImageDataGenerator(zca_whitening=True)),
    (NotImplementedError, "channels_first", lambda f: ImageDataGenerator(data_format="channels_first")),
    (ValueError, "data_format", lambda f: ImageDataGenerator(data_format="last")),
    (NotImplementedError, "interpolation_order", lambda f: ImageDataGenerator(interpolation_order=3)),
    (NotImplementedError, "dtype", lambda f: ImageDataGenerator(dtype="float64")),
    (NotImplementedError, "rescale", lambda f: ImageDataGenerator(rescale=-1)),
    (ValueError, "validation_split", lambda f: ImageDataGenerator(validation_split=1.5)),
    (ValueError, "rotation_range", lambda f: ImageDataGenerator(rotation_range=-3)),
    (ValueError, "zoom_range", lambda f: ImageDataGenerator(zoom_range=[1, 2, 3])),
    (ValueError, "zoom_range", lambda f: ImageDataGenerator(zoom_range=2)),
    (ValueError, "brightness_range", lambda f: ImageDataGenerator(brightness_range=0.5)),
    (ValueError, "fill_mode", lambda f: ImageDataGenerator(fill_mode="mirror")),
    (TypeError, "preprocessing_function", lambda f: ImageDataGenerator(preprocessing_function="invert")),
    (TypeError, "rotation", lambda f: ImageDataGenerator(rotation=3)),
    (NotImplementedError, "random_transform", lambda f: ImageDataGenerator().get_random_transform((4, 4, 3))),
    (ValueError, "samples, height", lambda f: ImageDataGenerator().fit(X[0])),
    (ValueError, "samples, height", lambda f: ImageDataGenerator().flow(X[0])),
    (TypeError, "numbers", lambda f: ImageDataGenerator().flow(X.astype(object))),
    (ValueError, "y: found 5", lambda f: ImageDataGenerator().flow(X, np.zeros(5))),
    (ValueError, "sample_weight", lambda f: ImageDataGenerator().flow(X, np.zeros(6), sample_weight=[1])),
    (ValueError, "other classes", lambda f: ImageDataGenerator(validation_split=0.5).flow(X, [0, 0, 0, 1, 1, 1],
                                                                                         subset="training")),
    (NotImplementedError, "several inputs", lambda f: ImageDataGenerator().flow((X, [X]))),
    (ValueError, "no samples", lambda f: next(ImageDataGenerator().flow(X[:0]))),
    (ValueError, "class numbers from 9", lambda f: ImageDataGenerator().flow(X, np.full(6, 9))._cornu_data(
        model_for((4, 4, 3), 3, "sparse_categorical_crossentropy"))),
    (ValueError, "label_mode", lambda f: dataset(f, label_mode="sparse")),
    (ValueError, "expected two", lambda f: dataset(f, label_mode="binary")),
    (ValueError, "class_names", lambda f: dataset(f, class_names=["cat", "cow"])),
    (ValueError, "class_names", lambda f: dataset(f, labels=None, class_names=["cat"])),
    (ValueError, "labels: found 'all'", lambda f: dataset(f, labels="all")),
    (ValueError, "labels: found 2 for the 19", lambda f: dataset(f, labels=[0, 1])),
    (ValueError, "seed", lambda f: dataset(f, validation_split=0.2, subset="training")),
    (ValueError, "only one of", lambda f: dataset(f, validation_split=0.2)),
    (ValueError, "subset", lambda f: dataset(f, validation_split=0.2, subset="test", seed=1)),
    (ValueError, "validation_split", lambda f: dataset(f, validation_split=2, subset="training", seed=1)),
    (ValueError, "interpolation", lambda f: dataset(f, interpolation="sharp")),
    (NotImplementedError, "gaussian", lambda f: dataset(f, interpolation="gaussian")),
    (NotImplementedError, "pad_to_aspect_ratio", lambda f: dataset(f, pad_to_aspect_ratio=True)),
    (NotImplementedError, "grain", lambda f: dataset(f, format="grain")),
    (ValueError, "image_size", lambda f: dataset(f, image_size=(0, 3))),
    (ValueError, "batch_size", lambda f: dataset(f, batch_size=-1)),
    (NotImplementedError, "TextLineDataset", lambda f: cornu.data.TextLineDataset),
    (NotImplementedError, "cache", lambda f: dataset(f).cache("file")),
    (FileNotFoundError, "nowhere.png", lambda f: load_img(f / "nowhere.png")),
    (OSError, "notes.txt: found no image", lambda f: load_img(f / "cat" / "notes.txt")),
    (TypeError, "path", lambda f: load_img(3)),
    (ValueError, "target_size", lambda f: load_img(f / "cat" / "0.png", target_size=(3, 4, 3, 1))),
    (NotImplementedError, "'jpg'", lambda f: save_img(f / "a.jpg", X[0])),
    (ValueError, "single picture", lambda f: save_img(f / "a.png", X)),
    (ValueError, "channels", lambda f: array_to_img(X[0, :, :, :2])),
    (ValueError, "shape", lambda f: img_to_array(X)),
    (NotImplementedError, "resize", lambda f: load_img(f / "cat" / "0.png").resize((3, 3))),
    (NotImplementedError, "random_zoom", lambda f: keras.preprocessing.image.random_zoom),
    (AttributeError, "zoom", lambda f: keras.preprocessing.image.zoom),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_use_is_told(folder, number):
    error, text, use = WRONG[number]
    with pytest.raises(error, match=text):
        use(folder)


def test_a_damaged_picture_is_told_where_it_comes_up(folder):
    cut_off(folder / "dog" / "2.png")
    flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, (8, 10), batch_size=6, shuffle=False)
    assert len(next(flow)[0]) == 6
    with pytest.raises(OSError, match=r"dog/2\.png: "):
        next(flow)
    assert len(next(flow)[0]) == 6
    handle = model_for((8, 10, 3))
    with pytest.raises(ValueError, match=r"dog/2\.png: "):
        run(handle, flow._cornu_data(handle)[0])
    data = keras.utils.image_dataset_from_directory(folder, image_size=(8, 10))
    with pytest.raises(OSError, match=r"dog/2\.png: "):
        next(iter(data))


def test_a_text_file_with_a_pictures_name_is_told(folder):
    (folder / "cat" / "9.jpg").write_text("no picture at all")
    with pytest.raises(OSError, match=r"cat/9\.jpg: found no image's first bytes"):
        next(flow(folder, batch_size=19))


def test_a_cut_off_jpeg_is_told(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\1\1\0\0\1\0\1\0\0")
    with pytest.raises(OSError, match=r"a\.jpg: "):
        load_img(tmp_path / "a.jpg")


def test_an_empty_class_keeps_its_number(folder, capsys):
    (folder / "bee").mkdir()
    assert flow(folder).class_indices == {"bee": 0, "cat": 1, "dog": 2, "eel": 3}
    assert "Found 18 images belonging to 4 classes." in capsys.readouterr().out
    with pytest.warns(UserWarning, match="cow: no such folder"):
        assert flow(folder, classes=["cat", "cow"]).num_classes == 2


def test_an_empty_folder_has_no_images(tmp_path):
    with pytest.raises(ValueError, match="found no images"):
        keras.utils.image_dataset_from_directory(tmp_path)
    assert ImageDataGenerator().flow_from_directory(tmp_path).samples == 0


def network_for(shape=(8, 8, 3)):
    keras.utils.set_random_seed(4)
    model = keras.Sequential([keras.Input(shape), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def test_each_data_set_has_its_own_scale():
    pictures = np.random.default_rng(1).integers(0, 256, (12, 8, 8, 3), np.uint8)
    classes = np.arange(12) % 3
    scaled = ImageDataGenerator(rescale=1 / 255)
    model, other = network_for(), network_for()
    seen = model.fit(scaled.flow(pictures, classes, shuffle=False), epochs=2, verbose=0, shuffle=False,
                     validation_data=(pictures.astype(np.float32) / 255, classes)).history
    expected = other.fit(pictures.astype(np.float32) / 255, classes, epochs=2, verbose=0, shuffle=False,
                         validation_data=ImageDataGenerator(rescale=1 / 255).flow(pictures, classes)).history
    assert np.allclose(seen["loss"], expected["loss"], rtol=1e-5) and np.allclose(seen["val_loss"], expected["val_loss"], rtol=1e-5)
    assert np.isclose(model.evaluate(scaled.flow(pictures, classes), verbose=0)[0],
                      model.evaluate(pictures.astype(np.float32) / 255, classes, verbose=0)[0], rtol=1e-5)
    assert not np.isclose(model.evaluate(pictures, classes, verbose=0)[0], model.evaluate(pictures / 255, classes, verbose=0)[0])


def test_arrays_are_not_standardized_for_having_trained_on_what_was(tmp_path):
    pictures = np.random.default_rng(1).random((12, 8, 8, 3), np.float32)
    classes = np.arange(12) % 3
    centered = ImageDataGenerator(samplewise_center=True)
    by_hand = pictures - pictures.mean((1, 2, 3), keepdims=True)
    model, other = network_for(), network_for()
    model.fit(centered.flow(pictures, classes, shuffle=False), epochs=2, verbose=0)
    other.fit(by_hand, classes, epochs=2, shuffle=False, verbose=0)
    assert np.allclose(model.predict(pictures, verbose=0), other.predict(pictures, verbose=0), atol=1e-5)
    assert np.isclose(model.evaluate(centered.flow(pictures, classes), verbose=0)[0],
                      other.evaluate(by_hand, classes, verbose=0)[0], rtol=1e-4)
    model.save(tmp_path / "m.safetensors")
    assert b"samplewise_center" in (tmp_path / "m.safetensors").read_bytes()
    with pytest.raises(NotImplementedError, match="standardized otherwise"):
        model.fit(centered.flow(pictures, classes), validation_data=(pictures, classes), verbose=0)


def test_what_is_changed_at_random_is_so_in_evaluation_too():
    pictures = np.random.default_rng(1).random((12, 8, 8, 3), np.float32)
    classes = np.arange(12) % 3
    model = network_for()
    turned = ImageDataGenerator(rotation_range=180).flow(pictures, classes, shuffle=False)
    assert model.evaluate(turned, verbose=0)[0] != model.evaluate(pictures, classes, verbose=0)[0]


# ---- the classes of data and model


def trained_on(folder):
    """A network that tells the colours of NAMES apart."""
    model = network_for((4, 4, 3))
    model.fit(as_numbers(folder), verbose=0)
    kernel = np.zeros((4 * 4 * 3, 3), np.float32)
    for label in range(3):
        kernel[label::3, label] = 1
    model.set_weights([kernel, np.zeros(3, np.float32)])
    return model


def as_numbers(folder):
    return keras.utils.image_dataset_from_directory(folder, image_size=(4, 4), batch_size=4, interpolation="nearest",
                                                    verbose=False)


def test_some_classes_are_evaluated_by_their_names(folder):
    model = trained_on(folder)
    assert model.class_names == list(NAMES)
    shutil.rmtree(folder / "cat")
    for data in (as_numbers(folder), flow(folder, class_mode="sparse", target_size=(4, 4))):
        with pytest.warns(UserWarning, match="no pictures of cat"):
            assert model.evaluate(data, verbose=0)[1] == 1
    (folder / "eel").rename(folder / "fox")
    with pytest.raises(ValueError, match="does not know: fox; expected some of: cat, dog, eel"):
        model.evaluate(as_numbers(folder), verbose=0)
    with pytest.raises(ValueError, match="found the classes dog, fox; the model's are cat, dog, eel"):
        model.evaluate(as_numbers(folder).map(lambda x, y: (x, y)), verbose=0)


def test_other_classes_are_trained_where_the_models_are_forgotten(folder, tmp_path):
    model = trained_on(folder)
    (folder / "cat").rename(folder / "ant")
    for data in (as_numbers(folder), as_numbers(folder).map(lambda x, y: (x, y))):
        with pytest.raises(ValueError, match="found the classes ant, dog, eel"):
            model.fit(data, verbose=0)
    model.class_names = None
    model.fit(as_numbers(folder), verbose=0)
    assert model.class_names == ["ant", "dog", "eel"]
    model.save(tmp_path / "m.keras")
    assert keras.models.load_model(tmp_path / "m.keras").class_names == ["ant", "dog", "eel"]
    with pytest.raises(ValueError, match="class_names: found 2"):
        model.class_names = ["ant", "dog"]


def test_layers_that_are_added_keep_the_class_names(folder):
    model = trained_on(folder)
    model.add(keras.layers.Activation("softmax"))
    model.add(keras.layers.Dropout(0.5))
    assert model.class_names == list(NAMES)
    model.pop()
    assert model.class_names is None  # the outputs of what comes in its place may be others
    model = trained_on(folder)
    model.add(keras.layers.Dense(2))
    assert model.class_names is None


def test_batches_made_in_python_leave_their_names(folder):
    model = network_for((4, 4, 3))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(as_numbers(folder).map(lambda x, y: (x, y)), verbose=0)
    assert model.class_names == list(NAMES)


def test_fewer_classes_than_outputs_are_keras_way(folder):
    model = keras.Sequential([keras.Input((4, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(5, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(as_numbers(folder), verbose=0)
    assert model.class_names == [*NAMES, "3", "4"]
    model.fit(np.zeros((4, 4, 4, 3), np.float32), np.array([0, 1, 0, 1]), verbose=0)


def test_class_weights_go_by_names_where_the_data_has_them(folder):
    flow = ImageDataGenerator().flow_from_directory(folder, target_size=(8, 10), batch_size=4, shuffle=False)
    dataset = keras.utils.image_dataset_from_directory(folder, image_size=(8, 10), batch_size=4, shuffle=False, verbose=False,
                                                       label_mode="categorical")

    def loss(data, weights):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((8, 10, 3)), keras.layers.Flatten(), keras.layers.Dense(len(flow.class_indices),
                                                                                                      activation="softmax")])
        model.compile("sgd", "categorical_crossentropy")
        return model.fit(data, class_weight=weights, verbose=0, shuffle=False).history["loss"]

    first, second, *_ = flow.class_indices
    for data in (flow, dataset):
        assert loss(data, {first: 3.0, second: 0.5}) == loss(data, {0: 3.0, 1: 0.5}) != loss(data, None)
    with pytest.raises(ValueError, match=f"found 'zebra'; expected one of '{first}'"):
        loss(flow, {"zebra": 1.0})
    with pytest.raises(ValueError, match="says one class twice"):
        loss(flow, {first: 1.0, 0: 2.0})
    with pytest.raises(ValueError, match="the data has no class names"):
        _with_arrays({"cat": 1.0})


def _with_arrays(weights):
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(np.ones((4, 3), np.float32), [0, 1, 0, 1], class_weight=weights, verbose=0)
