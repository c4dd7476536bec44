"""What TensorFlow 2.0 to 2.15 took, by position and by keyword: every call here is one of its signatures."""
import numpy as np
import pytest

import cornu as tf
from cornu.keras import (Input, Sequential, activations, backend, callbacks, datasets, initializers, layers, losses, metrics,
                         models, optimizers, preprocessing, utils)

pytestmark = pytest.mark.filterwarnings("ignore")
X, Y, O = np.ones((4, 3), np.float32), np.eye(2)[[0, 1, 0, 1]], np.array([[0.25, 0.75]], np.float32)
AUTO = "auto"


def network(*compiled, **options):
    model = Sequential([layers.Dense(2, activation="softmax", input_shape=(3,))])
    model.compile(*(compiled if compiled or options else ("sgd", "mse", ["accuracy"])), **options)
    return model


def gives():
    while True:
        yield X, Y


LAYERS = {
    "Dense": lambda: layers.Dense(2, "relu", True, "glorot_uniform", "zeros", None, None, None, None, None),
    "Dense of 2.0": lambda: layers.Dense(2, input_shape=(3,), kernel_regularizer=None, weights=None, dynamic=False),
    "Conv2D": lambda: layers.Conv2D(2, (3, 3), (1, 1), "valid", None, (1, 1), 1, "relu", True, "glorot_uniform", "zeros"),
    "MaxPooling2D": lambda: layers.MaxPooling2D((2, 2), None, "valid", None),
    "MaxPool2D": lambda: layers.MaxPool2D(pool_size=2, strides=2, padding="same", data_format="channels_last"),
    "AveragePooling2D": lambda: layers.AveragePooling2D((2, 2), None, "valid", None),
    "GlobalAveragePooling2D": lambda: layers.GlobalAveragePooling2D(data_format=None, keepdims=False),
    "Flatten": lambda: layers.Flatten(data_format=None, input_shape=(28, 28)),
    "Dropout": lambda: layers.Dropout(0.5, None, 3),
    "BatchNormalization": lambda: layers.BatchNormalization(
        axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
        moving_mean_initializer="zeros", moving_variance_initializer="ones", beta_regularizer=None, gamma_regularizer=None,
        beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, trainable=True),
    "LeakyReLU": lambda: (layers.LeakyReLU(0.3), layers.LeakyReLU(alpha=0.3)),
    "ReLU": lambda: layers.ReLU(None, 0.0, 0.0),
    "ELU": lambda: layers.ELU(alpha=1.0),
    "Softmax": lambda: (layers.Softmax(-1), layers.Softmax(axis=-1, robust_masking=False)),
    "Activation": lambda: layers.Activation(tf.nn.relu),
    "Reshape": lambda: layers.Reshape(target_shape=(3, 1)),
    "ZeroPadding2D": lambda: layers.ZeroPadding2D(padding=(1, 1), data_format=None),
    "Rescaling": lambda: layers.experimental.preprocessing.Rescaling(1.0 / 255, offset=0.0),
    "InputLayer": lambda: (layers.InputLayer((3,), None), layers.InputLayer(
        input_shape=(3,), batch_size=None, dtype=None, input_tensor=None, sparse=False, name="x", ragged=False, type_spec=None)),
    "Input": lambda: (Input((3,), None, "x"), Input(shape=(3,), batch_size=None, name="x", dtype=None, sparse=False,
                                                    tensor=None, ragged=False, type_spec=None)),
    "serialize": lambda: layers.deserialize(layers.serialize(layers.Dense(2), use_legacy_format=False), use_legacy_format=False),
}
PIECES = {
    "SGD": lambda: (optimizers.SGD(0.01, 0.9, True), optimizers.SGD(lr=0.01, decay=1e-6, momentum=0.9, nesterov=True, name="SGD")),
    "Adam": lambda: (optimizers.Adam(0.001, 0.9, 0.999, 1e-7, False), optimizers.Adam(
        learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, weight_decay=None, clipnorm=None,
        clipvalue=None, global_clipnorm=None, use_ema=False, ema_momentum=0.99, ema_overwrite_frequency=None, jit_compile=True,
        name="Adam")),
    "RMSprop": lambda: optimizers.RMSprop(0.001, 0.9, 0.0, 1e-7, False),
    "Adagrad": lambda: optimizers.Adagrad(learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, name="Adagrad"),
    "legacy": lambda: optimizers.legacy.Adam(learning_rate=0.001, decay=0.0),
    "get": lambda: (optimizers.get("adam"), optimizers.deserialize(optimizers.serialize(optimizers.Adam()), use_legacy_format=False)),
    "ExponentialDecay": lambda: optimizers.schedules.ExponentialDecay(0.1, 10, 0.9, False, None),
    "InverseTimeDecay": lambda: optimizers.schedules.InverseTimeDecay(0.1, 10, 0.9, False, None),
    "PiecewiseConstantDecay": lambda: optimizers.schedules.PiecewiseConstantDecay([1], [0.1, 0.01], name=None),
    "CosineDecay": lambda: optimizers.schedules.CosineDecay(0.1, 10, 0.0, None),
    "CategoricalCrossentropy": lambda: losses.CategoricalCrossentropy(False, 0, -1, AUTO, "loss"),
    "CategoricalCrossentropy by name": lambda: losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=0, reduction=AUTO, name="categorical_crossentropy"),
    "SparseCategoricalCrossentropy": lambda: losses.SparseCategoricalCrossentropy(from_logits=True, reduction=AUTO, name="x"),
    "BinaryCrossentropy": lambda: losses.BinaryCrossentropy(False, 0, -1, AUTO, "binary_crossentropy"),
    "MeanSquaredError": lambda: (losses.MeanSquaredError(AUTO, "mse"), losses.MSE(Y, Y), losses.mse(Y, Y)),
    "MeanAbsoluteError": lambda: (losses.MeanAbsoluteError(reduction=AUTO), losses.MAE(Y, Y), losses.mae(Y, Y)),
    "losses.get": lambda: losses.deserialize(name="mse", custom_objects=None, use_legacy_format=False),
    "loss functions": lambda: (losses.categorical_crossentropy(Y, Y, False, 0.0, -1), losses.sparse_categorical_crossentropy(
        [1], O, from_logits=False, axis=-1, ignore_class=None), losses.binary_crossentropy(Y, Y, False, 0.0, -1)),
    "metrics": lambda: (metrics.CategoricalAccuracy("a", None), metrics.SparseCategoricalAccuracy(name="a", dtype=None),
                        metrics.BinaryAccuracy("a", None, 0.5), metrics.TopKCategoricalAccuracy(5, "a", None)),
    "metrics of losses": lambda: (metrics.MeanSquaredError("a", None), metrics.MeanAbsoluteError(name="a"),
                                  metrics.BinaryCrossentropy("a", None, False, 0), metrics.CategoricalCrossentropy(
                                      name="a", dtype=None, from_logits=False, label_smoothing=0, axis=-1),
                                  metrics.SparseCategoricalCrossentropy(name="a", dtype=None, from_logits=False,
                                                                        axis=-1)),
    "metric functions": lambda: (metrics.mean_squared_error(Y, Y), metrics.categorical_accuracy(Y, Y),
                                 metrics.sparse_top_k_categorical_accuracy([1], O, 1)),
    "initializers": lambda: (initializers.GlorotUniform(seed=1), initializers.HeNormal(1), initializers.Zeros(),
                             initializers.Constant(0), initializers.glorot_normal(None)),
    "activations": lambda: (activations.relu(X, 0.0, None, 0), activations.relu(X, alpha=0.0, max_value=None, threshold=0.0),
                            activations.elu(X, 1.0), activations.softmax(X, axis=-1), activations.deserialize(name="relu")),
    "tf.nn": lambda: (tf.nn.relu(features=X, name="r"), tf.nn.leaky_relu(X, alpha=0.2, name=None), tf.nn.softmax(
        logits=X, axis=None, name=None), tf.nn.sigmoid(X, name="s"), tf.nn.silu(X, beta=1.0), tf.nn.elu(X, name=None)),
}
CALLBACKS = {
    "EarlyStopping": lambda: callbacks.EarlyStopping("val_loss", 0, 3, 1, AUTO, None, True),
    "ModelCheckpoint": lambda: callbacks.ModelCheckpoint("a.h5", "val_loss", 1, True, False, AUTO, "epoch", None),
    "ModelCheckpoint by name": lambda: callbacks.ModelCheckpoint(filepath="a.hdf5", save_weights_only=True, options=None, period=5),
    "ReduceLROnPlateau": lambda: callbacks.ReduceLROnPlateau("val_loss", 0.1, 10, 0, AUTO, 1e-4, 0, 0),
    "ReduceLROnPlateau of 2.0": lambda: callbacks.ReduceLROnPlateau(epsilon=1e-4),
    "TensorBoard": lambda: callbacks.TensorBoard(log_dir="logs", histogram_freq=1, write_graph=True, write_images=False,
                                                 update_freq="epoch", profile_batch=2, embeddings_freq=0,
                                                 embeddings_metadata=None, write_grads=False, batch_size=32),
    "LearningRateScheduler": lambda: callbacks.LearningRateScheduler(lambda epoch: 0.1, 0),
    "CSVLogger": lambda: callbacks.CSVLogger("a.csv", ",", False),
    "LambdaCallback": lambda: callbacks.LambdaCallback(on_batch_begin=print, on_batch_end=print, on_train_end=print),
    "ProgbarLogger": lambda: (callbacks.ProgbarLogger("steps", None), callbacks.ProgbarLogger(count_mode="samples")),
    "others": lambda: (callbacks.TerminateOnNaN(), callbacks.History(), callbacks.Callback()),
}
MODEL = {
    "Sequential": lambda: (Sequential([layers.Dense(2)], "name"), Sequential(layers=[], name="name")),
    "compile of 2.0": lambda: network("rmsprop", "mse", ["mae"], None, None, None, None, sample_weight_mode=None,
                                      target_tensors=None, distribute=None),
    "compile": lambda: network(optimizer="adam", loss="mse", metrics=["mse"], loss_weights=None, weighted_metrics=None,
                               run_eagerly=None, steps_per_execution=None, jit_compile=None, pss_evaluation_shards=0),
    "compile by position": lambda: (network(optimizers.Adam(), losses.MeanSquaredError(), [metrics.MeanAbsoluteError()]),
                                    network("sgd", "mse", "mae"), network("sgd", "mse", [losses.mean_absolute_error], None)),
    "fit": lambda: network().fit(X, Y, 2, 1, 0, None, 0.0, (X, Y), True, None, None, 0, None, None, None, 1, 10, 1, False),
    "fit by name": lambda: network().fit(x=gives(), steps_per_epoch=1, epochs=1, verbose=0, validation_data=gives(),
                                         validation_steps=1, max_queue_size=2, workers=1, use_multiprocessing=False),
    "evaluate": lambda: network().evaluate(X, Y, 2, 0, None, None, None, 10, 1, False, True)["loss"],
    "evaluate by name": lambda: network().evaluate(x=X, y=Y, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0),
    "predict": lambda: (network().predict(X, 2, 0, None, None, 10, 1, False), network().predict(X, batch_size=2, verbose=0,
                                                                                           workers=1)),
    "on batches": lambda: (network().train_on_batch(X, Y, None, None, reset_metrics=True, return_dict=False),
                           network().test_on_batch(X, Y, None, reset_metrics=False), network().predict_on_batch(X)),
    "generators": lambda: (network().fit_generator(gives(), 2, 1, 0, None, gives(), 1, 1, None, 10, 1, False, True, 0),
                           network().evaluate_generator(gives(), 1, None, 10, 1, False, 0),
                           network().predict_generator(gives(), steps=1, verbose=0)),
    "summary": lambda: network().summary(None, None, lambda line: None, False, False, None),
    "metrics_names": lambda: network().metrics_names.index("accuracy") == 1 or 1 / 0,
    "the rest": lambda: (network().build((None, 3)), network().count_params(), network().get_layer(None, 0), network().to_json(),
                         models.clone_model(network(), None, None), models.model_from_json(network().to_json(), None)),
    "learning rate": lambda: (backend.set_value(network().optimizer.lr, 0.1), backend.get_value(network().optimizer.lr),
                              network().optimizer.learning_rate.assign(0.2).numpy(), network().optimizer.lr.value()),
}
UTILS = {
    "to_categorical": lambda: (utils.to_categorical([0, 1], 2, "float32"), utils.to_categorical(y=[0, 1], num_classes=2,
                                                                                                dtype="float32")),
    "normalize": lambda: utils.normalize(X, -1, 2),
    "np_utils": lambda: utils.np_utils.to_categorical(y=[1], num_classes=2),
    "arrays and pictures": lambda: (utils.array_to_img(np.ones((2, 2, 3)), None, True, None), utils.img_to_array(
        utils.array_to_img(np.ones((2, 2, 3))), data_format=None, dtype=None)),
    "ImageDataGenerator": lambda: preprocessing.image.ImageDataGenerator(
        False, False, False, False, False, 1e-6, 20, 0.0, 0.0, None, 0.2, 0.2, 0.0, "nearest", 0.0, True, False, 1 / 255, None,
        None, 0.0, 1, None).flow(np.ones((4, 5, 5, 3)), Y, 2, True, None, 1, None, "", "png", False, None),
    "model_to_dot": lambda: utils.model_to_dot(network(), show_shapes=True, show_dtype=False, show_layer_names=True, rankdir="TB",
                                               expand_nested=False, dpi=96, subgraph=False, layer_range=None,
                                               show_layer_activations=False),
    "backend": lambda: (backend.clear_session(), backend.image_data_format(), backend.floatx(), backend.epsilon()),
    "tf.config": lambda: (tf.config.list_physical_devices(device_type=None), tf.config.experimental.list_physical_devices("GPU"),
                          tf.config.list_logical_devices("CPU"), tf.config.get_visible_devices(device_type="CPU")),
    "tf.test": lambda: (tf.test.is_gpu_available(cuda_only=False, min_cuda_compute_capability=None), tf.test.gpu_device_name(),
                        tf.test.is_built_with_cuda()),
    "tf.sysconfig": lambda: tuple(tf.sysconfig.get_build_info()[key] for key in ("is_cuda_build", "cuda_version", "cudnn_version")),
    "tf.random": lambda: (tf.random.set_seed(1), tf.random.set_seed(seed=1)),
    "device_lib": lambda: tf.python.client.device_lib.list_local_devices(session_config=None),
}


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for table in (LAYERS, PIECES, CALLBACKS, MODEL, UTILS)
                                  for name, call in table.items()])
def test_a_call_of_tensorflow_2_is_taken(call):
    call()


def test_files_are_saved_by_their_formats(tmp_path):
    model = network()
    model.save(tmp_path / "m.h5", True, True)
    model.save(tmp_path / "n.h5", save_format="h5", include_optimizer=True, signatures=None, options=None, save_traces=True)
    model.save(tmp_path / "n.keras", True, "keras")
    models.load_model(tmp_path / "n.h5", None, True, None)
    models.load_model(tmp_path / "m.h5", custom_objects=None, compile=True, options=None)
    model.save_weights(tmp_path / "w.h5", overwrite=True, save_format="h5", options=None)
    model.save_weights(tmp_path / "v.h5", True, "h5")
    other = network()
    other.load_weights(tmp_path / "w.h5", by_name=False)
    with pytest.raises(ValueError, match="found no weights for any layer of"):  # its layers are called otherwise
        network().load_weights(tmp_path / "w.h5", by_name=True, skip_mismatch=True)
    assert all(np.array_equal(a, b) for a, b in zip(other.get_weights(), model.get_weights()))
    for save in (model.save, model.save_weights):
        with pytest.raises(NotImplementedError, match="save_format='tf' is not in cornu.*without save_format"):
            save(tmp_path / "saved", save_format="tf")
    model.fit(X, Y, verbose=0, callbacks=[callbacks.ModelCheckpoint(tmp_path / "c{epoch}.hdf5", save_weights_only=True)])
    other.load_weights(tmp_path / "c1.hdf5")


def test_pictures_are_read_as_before(tmp_path):
    utils.save_img(tmp_path / "a.png", np.ones((6, 7, 3)))
    load = preprocessing.image.load_img
    for picture in (load(tmp_path / "a.png", target_size=(4, 5, 3)), load(tmp_path / "a.png", False, "rgb", (4, 5), "nearest")):
        assert picture.size == (5, 4) and picture.mode == "RGB"
    assert load(tmp_path / "a.png", True).mode == load(tmp_path / "a.png", grayscale=True).mode == "L"
    assert load(tmp_path / "a.png", grayscale=False).mode == "RGB"
    with pytest.raises(ValueError, match="target_size"):
        load(tmp_path / "a.png", target_size=(4, 5, 3, 1))


def test_categories_have_the_type_that_is_asked_for():
    made = utils.to_categorical([1, 0], num_classes=3, dtype="float32")
    assert made.dtype == np.float32 and made.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert utils.to_categorical([1]).dtype == np.float64  # as Keras 3 has it


def test_a_learning_rate_is_a_variable_and_a_number():
    model = network("sgd", "mse")
    rate = model.optimizer.learning_rate
    assert rate.assign(rate * 0.5) is rate and rate.assign(rate * 0.5).value == 0.0025
    assert rate.numpy() == np.float32(0.0025) and isinstance(rate.numpy(), np.float32) and float(model.optimizer.lr) == 0.0025
    assert f"{rate:.4f} {rate}" == "0.0025 0.0025" and 1 / rate == 400 and rate < 1 and round(rate, 2) == 0
    assert np.asarray(rate).item() == 0.0025 and max(rate, 0.001) == 0.0025 and rate == model.optimizer.learning_rate
    before = model.get_weights()
    rate.assign(0)
    model.fit(X, Y, verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), before))
    rate.assign(0.1)
    model.fit(X, Y, verbose=0)
    assert not np.array_equal(model.get_weights()[0], before[0])
    assert rate.assign_add(0.25).assign_sub(0.1) == pytest.approx(0.25) and (rate.shape, rate.dtype) == ((), "float32")
    with pytest.raises(ValueError):
        rate.assign("much")


def test_a_schedules_rate_is_that_of_the_next_step_and_is_not_set():
    schedule = optimizers.schedules.ExponentialDecay(0.5, 10, 0.25)
    model = network(optimizers.SGD(schedule), "mse")
    optimizer = model.optimizer
    assert optimizer.learning_rate == 0.5 and optimizer.iterations == 0
    model.fit(X, Y, batch_size=len(X), epochs=5, verbose=0)
    assert optimizer.iterations.numpy() == 5 and f"{optimizer.iterations}" == "5" and range(10)[optimizer.iterations] == 5
    assert optimizer.learning_rate.numpy() == np.float32(0.25) and schedule(10).numpy() == np.float32(0.125)
    # as in tf.keras 2, where it is the schedule
    assert optimizer.learning_rate(optimizer.iterations) == 0.25 and optimizer.learning_rate.decay_steps == 10
    for change in (lambda: setattr(optimizer, "learning_rate", 0.1), lambda: optimizer.learning_rate.assign(0.1)):
        with pytest.raises(TypeError, match="SGD: learning_rate: found 0.1 for an optimizer that was made with a schedule"):
            change()
    model = network("adam", "mse")
    with pytest.raises(NotImplementedError, match="Adam: learning_rate: found a schedule for a model that is compiled"):
        model.optimizer.learning_rate = schedule


def test_an_initializer_gives_arrays():
    made = initializers.RandomUniform(1.0, 2.0)
    values = made((40, 3))
    assert values.shape == (40, 3) and values.dtype == np.float32 and values.min() >= 1 and values.max() <= 2
    assert np.array_equal(values, made((40, 3))) and not np.array_equal(values, initializers.RandomUniform(1.0, 2.0)((40, 3)))
    with pytest.raises(ValueError, match="found shape .3. for the initializer identity; expected two dimensions"):
        initializers.Identity()((3,))
    with pytest.raises(NotImplementedError, match="float16"):
        made((2,), dtype="float16")


def test_metrics_are_losses_too_and_an_unknown_one_is_refused_at_once():
    history = network("sgd", "mse", metrics=["mae", "mse", "MAE", "mean_absolute_error", "accuracy"]).fit(X, Y, verbose=0)
    found = {name: values[0] for name, values in history.history.items()}
    assert set(found) == {"loss", "mae", "mse", "MAE", "mean_absolute_error", "accuracy"}
    assert found["mse"] == pytest.approx(found["loss"]) and found["mae"] == found["MAE"] == found["mean_absolute_error"]
    crossentropy = network("sgd", "categorical_crossentropy", metrics=["categorical_crossentropy", metrics.mean_squared_error])
    scores = crossentropy.evaluate(X, Y, verbose=0, return_dict=True)
    assert scores["categorical_crossentropy"] == pytest.approx(scores["loss"]) and "mean_squared_error" in scores
    for unbuilt in (Sequential([layers.Dense(2)]), network()):
        with pytest.raises(ValueError, match="metric 'nonsense': unknown"):
            unbuilt.compile("sgd", "mse", metrics=["nonsense"])


def test_means_go_on_where_they_are_not_reset():
    model = network("sgd", "mse")
    first = model.test_on_batch(X, Y)
    assert model.test_on_batch(X, 0 * Y, reset_metrics=False) == pytest.approx((first + model.test_on_batch(X, 0 * Y)) / 2)


def test_the_datasets_take_what_they_took(monkeypatch):
    monkeypatch.setattr("cornu.keras.datasets._load", lambda name, column: name)
    assert datasets.mnist.load_data("mnist.npz") == datasets.mnist.load_data(path="mnist.npz") == "mnist"
    assert datasets.cifar10.load_data() == "cifar10" and datasets.cifar100.load_data(label_mode="fine") == "cifar100"
    assert datasets.fashion_mnist.load_data() == "fashion_mnist"
