"""keras.backend, keras.config, and older spellings of imports."""
import numpy as np
import pytest

from cornu import keras
from cornu.keras import backend as K


def test_automatic_names_begin_again_after_clear_session():
    for clear in (K.clear_session, keras.utils.clear_session):
        keras.layers.Dense(2)
        clear()
        assert [keras.layers.Dense(2).name for _ in range(3)] == ["dense", "dense_1", "dense_2"]
        assert keras.Sequential().name == "sequential"


@pytest.mark.parametrize("module", [keras.backend, keras.config])
def test_settings_have_one_value_each(module):
    for name, value, other in (("floatx", "float32", "float16"), ("epsilon", 1e-7, 1e-5),
                               ("image_data_format", "channels_last", "channels_first")):
        assert getattr(module, name)() == value
        getattr(module, "set_" + name)(value)
        with pytest.raises(NotImplementedError, match=f"set_{name}"):
            getattr(module, "set_" + name)(other)
    assert module.backend() == "cornu"
    with pytest.raises(NotImplementedError, match="there is"):
        module.conv2d if module is keras.backend else module.set_backend


def test_weights_by_the_backends_functions(model):
    kernel = model.layers[0].kernel
    assert K.int_shape(kernel) == (3, 3, 1, 4) and K.count_params(kernel) == 36
    K.set_value(kernel, np.ones((3, 3, 1, 4)))
    K.batch_set_value([(model.layers[0].bias, np.full(4, 2.0))])
    assert np.all(K.get_value(kernel) == 1) and np.all(K.batch_get_value([model.layers[0].bias])[0] == 2)
    assert K.get_value(model.optimizer.learning_rate) == 0.001
    K.set_value(model.optimizer.learning_rate, 0.1)
    assert model.optimizer.learning_rate == 0.1
    with pytest.raises(NotImplementedError, match="learning rate"):
        K.set_value(0.001, 0.1)


def test_numbers_of_a_prefix():
    assert [K.get_uid("of this test") for _ in range(2)] == [1, 2]


def test_older_imports_find_the_same():
    from cornu.keras.layers.experimental.preprocessing import Rescaling
    from cornu.keras.utils.np_utils import to_categorical
    assert Rescaling is keras.layers.Rescaling is keras.layers.experimental.preprocessing.Rescaling
    assert to_categorical is keras.utils.to_categorical is keras.utils.np_utils.to_categorical
    with pytest.raises(NotImplementedError, match="RandomPerspective"):
        keras.layers.experimental.preprocessing.RandomPerspective
    with pytest.raises(NotImplementedError, match="imdb"):
        keras.datasets.imdb


def test_rows_over_their_norms():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.allclose(keras.utils.normalize(x), [[0.6, 0.8], [0, 0]])
    assert np.allclose(keras.utils.normalize(x, axis=0, order=1), [[1, 1], [0, 0]])


def test_its_mathematics_are_of_arrays_and_of_tensors():
    x = np.array([[4.0, -1.0], [0.25, 9.0]], np.float32)
    assert K.mean(x) == pytest.approx(3.0625) and K.sqrt(x)[0].tolist() == [2, 0]
    assert K.flatten(x).shape == (4,) and K.expand_dims(x).shape == (2, 2, 1)
    assert K.argmax(x).tolist() == [0, 1] and K.one_hot([1, 0], 2).tolist() == [[0, 1], [1, 0]]
    assert np.allclose(K.l2_normalize(x, -1)[0], [4 / 17**0.5, -1 / 17**0.5])
    assert K.binary_crossentropy(1.0, np.float32(0.5)) == pytest.approx(np.log(2))
    begin = keras.Input((2, 3))
    model = keras.Model(begin, K.batch_flatten(K.square(K.permute_dimensions(begin, (0, 2, 1)))))
    given = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    assert model.predict(given, verbose=0).tolist() == [[0, 9, 1, 16, 4, 25]]
