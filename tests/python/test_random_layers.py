"""Layers that draw, called on arrays: what draws when, from which seed, and what it does."""
import numpy as np
import pytest

import cornu as tf
from cornu import keras
from cornu.keras import layers

IMAGES = np.random.default_rng(1).random((6, 5, 4, 3), np.float32)


def changed(outputs, inputs=IMAGES) -> bool:
    return not np.array_equal(outputs, inputs)


def test_layers_of_images_draw_unless_training_is_false():
    layer = layers.RandomBrightness(0.5, value_range=(-9, 9))
    within = keras.Sequential([layer])
    functional = keras.Model(*(lambda x: (x, layer(x)))(keras.Input((5, 4, 3))))
    for called in (layer, within, functional):
        assert changed(called(IMAGES)) and changed(called(IMAGES, training=True))
        assert not changed(called(IMAGES, training=False))
    assert not changed(functional.predict(IMAGES, verbose=0))


@pytest.mark.parametrize("layer", [layers.Dropout(0.5), layers.GaussianNoise(0.5), layers.GaussianDropout(0.5), layers.AlphaDropout(0.5),
                                   layers.SpatialDropout2D(0.5)], ids=lambda layer: layer.name)
def test_dropout_and_noise_draw_in_training_alone(layer):
    within = keras.Sequential([layers.RandomFlip("horizontal", seed=1), layer])
    assert not changed(layer(IMAGES)) and changed(layer(IMAGES, training=True))
    flipped = np.asarray(within(IMAGES))
    assert all(not changed(image, own) or not changed(image, own[:, ::-1]) for image, own in zip(flipped, IMAGES))
    assert changed(np.sort(within(IMAGES, training=True), axis=None), np.sort(IMAGES, axis=None))


def test_each_call_draws_others_and_a_seed_the_same():
    first, again, other = (layers.RandomRotation(0.3, seed=seed) for seed in (7, 7, 8))
    one, two = first(IMAGES), first(IMAGES)
    assert changed(one, two)
    assert not changed(again(IMAGES), one) and not changed(again(IMAGES), two)
    assert changed(other(IMAGES), one)
    keras.utils.set_random_seed(5)
    one = layers.RandomRotation(0.3)(IMAGES)
    keras.utils.set_random_seed(5)
    assert not changed(layers.RandomRotation(0.3)(IMAGES), one)


def test_one_image_and_a_dictionary():
    layer = layers.RandomInvert(value_range=(0, 1), factor=(1.0, 1.0))
    alone = layer((IMAGES[0] * 255).astype(np.uint8))
    assert alone.shape == (5, 4, 3) and alone.numpy().dtype == np.float32
    labels = np.arange(6)
    outputs = layer({"images": IMAGES, "labels": labels})
    assert np.allclose(outputs["images"], 1 - IMAGES) and outputs["labels"] is labels
    with pytest.raises(NotImplementedError, match="'bounding_boxes'"):
        layer({"images": IMAGES, "bounding_boxes": []})
    assert layers.Resizing(2, 3)(IMAGES[0]).shape == (2, 3, 3) and layers.CenterCrop(2, 3)(IMAGES).shape == (6, 2, 3, 3)


def test_layers_are_mapped_over_data():
    augment = keras.Sequential([layers.RandomBrightness((0.2, 0.2), value_range=(0, 1)), layers.Rescaling(2.0)])
    data = tf.data.Dataset.from_tensor_slices((IMAGES / 2, np.arange(6))).batch(4)
    mapped = data.map(lambda x, y: (augment(x, training=True), y), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    assert np.allclose(np.concatenate([x for x, _ in mapped]), IMAGES + 0.4, atol=1e-6)


def test_batch_statistics_are_those_of_fit_alone():
    model = keras.Sequential([layers.RandomFlip(), layers.BatchNormalization()])
    assert model(IMAGES).shape == IMAGES.shape
    with pytest.raises(NotImplementedError, match="batch_normalization.* takes its batch's statistics in fit"):
        model(IMAGES, training=True)


@pytest.mark.parametrize("layer", [layers.RandomHue((0.0, 0.0)), layers.RandomErasing((0.0, 0.0)), layers.RandomShear(0.0, 0.0),
                                   layers.RandomSharpness((0.5, 0.5)), layers.RandomColorDegeneration((0.0, 0.0)),
                                   layers.RandomGrayscale(0.0), layers.RandomSaturation((0.5, 0.5)), layers.RandomColorJitter(),
                                   layers.RandomInvert((0.0, 0.0))], ids=lambda layer: type(layer).__name__)
def test_a_factor_that_changes_nothing(layer):
    assert np.allclose(layer(IMAGES), IMAGES, atol=1e-5)


def test_a_box_is_erased_with_noise_or_a_number():
    filled = np.asarray(layers.RandomErasing((1.0, 1.0), (0.3, 0.3), fill_value=(0.1, 0.2, 2), value_range=(0, 1))(IMAGES))
    where = np.all(filled == np.array([0.1, 0.2, 1], np.float32), -1)
    assert where.any((1, 2)).all() and np.array_equal(filled[~where], IMAGES[~where])
    noise = np.asarray(layers.RandomErasing(scale=(1.0, 1.0), value_range=(0, 1), factor=(1.0, 1.0))(IMAGES))
    assert ((noise >= 0) & (noise <= 1)).all() and 0.3 < np.mean(noise == 0) < 0.7


def test_solarization_keeps_what_is_below_its_threshold():
    bytes_ = np.random.default_rng(2).integers(0, 256, (40, 3, 3, 1)).astype(np.float32)
    out = np.asarray(layers.Solarization(threshold_factor=(0.9, 1.0))(bytes_))
    assert ((out == bytes_) | (out == 255 - bytes_)).all() and (out != bytes_).any() and (out[bytes_ == 0] == 0).all()


LABELS = np.eye(6, dtype=np.float32)


def test_mix_up_mixes_images_as_their_labels():
    """Images that are their labels' numbers: then both are mixed alike."""
    images = np.arange(6, dtype=np.float32)[:, None, None, None] * np.ones((1, 4, 3, 1), np.float32)
    out = layers.MixUp(alpha=2.0, seed=4)({"images": images, "labels": LABELS})
    assert np.allclose(out["labels"].numpy().sum(1), 1, atol=1e-6) and (np.count_nonzero(out["labels"], 1) > 1).any()
    assert np.allclose(out["images"], (out["labels"] @ np.arange(6, dtype=np.float32))[:, None, None, None] * np.ones((1, 4, 3, 1)), atol=1e-5)


def test_cut_mix_takes_a_box_and_counts_its_area():
    images = np.arange(6, dtype=np.float32)[:, None, None, None] * np.ones((1, 50, 60, 1), np.float32)
    out = layers.CutMix(seed=4)({"images": images, "labels": LABELS})
    for own, (image, label) in enumerate(zip(np.asarray(out["images"])[..., 0], out["labels"])):
        numbers = np.unique(image)
        assert set(numbers) <= {own, *np.flatnonzero(label)} and len(numbers) <= 2
        assert abs(np.mean(image == own) - label[own]) < 0.06
        rows, columns = np.nonzero(image != own)
        assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1) if len(rows) else True
    assert len(np.unique(out["images"][0])) == 2 or len(np.unique(out["images"])) == 6


@pytest.mark.parametrize("cls", [layers.MixUp, layers.CutMix, layers.RandAugment, layers.AugMix, layers.RandomGaussianBlur])
def test_layers_on_data_draw_by_their_seed_alone(cls):
    first, again, other = (cls(seed=seed) for seed in (1, 1, 2))
    outputs = [np.asarray(first(IMAGES * 255)) for _ in range(4)]
    assert any(changed(output, IMAGES * 255) for output in outputs)
    assert all(not changed(again(IMAGES * 255), output) for output in outputs)
    assert any(changed(other(IMAGES * 255), output) for output in outputs)
    assert not changed(first(IMAGES * 255, training=False), IMAGES * 255)
    copy = keras.layers.deserialize(keras.layers.serialize(first))
    assert copy.get_config() == first.get_config()


def test_layers_on_data_stand_in_no_network_and_refuse_what_they_cannot_take():
    with pytest.raises(NotImplementedError, match="MixUp.*within a network"):
        layers.MixUp()(keras.Input((4, 4, 3)))
    with pytest.raises(ValueError, match=r"labels of shape \(6,\); expected a row for each image"):
        layers.CutMix()({"images": IMAGES, "labels": np.arange(6)})
    with pytest.raises(ValueError, match="RandAugment: factor: found 2"):
        layers.RandAugment(factor=2)
    with pytest.raises(ValueError, match="kernel_size: found 4; expected an odd number"):
        layers.RandomGaussianBlur(kernel_size=4)
    with pytest.raises(ValueError, match=r"found shape \(4, 3\); expected an image"):
        layers.Equalization()(IMAGES[0, 0])


def test_labels_are_mixed_within_a_data_set():
    mix = layers.MixUp(seed=1)
    data = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).batch(3)
    mapped = data.map(lambda x, y: tuple(mix({"images": x, "labels": y}).values()))
    assert [(x.shape, y.shape) for x, y in mapped] == [((3, 5, 4, 3), (3, 6))] * 2
