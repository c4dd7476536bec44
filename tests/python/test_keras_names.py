"""Each of Keras's public names is in cornu, or there is a reason why not, or it is still to be built."""
import pytest

from cornu import keras
from cornu.keras import _keras_names

MODULES = {name: name for name in ("layers", "losses", "metrics", "optimizers", "initializers", "regularizers", "constraints",
                                   "activations", "callbacks")} | {"schedules": "optimizers.schedules"}

# Why Keras's names, "module.name", are not in cornu, and are not going to be.
REASONS = {
    "three dimensions: cornu is for images and signals":
        "layers.AdaptiveAveragePooling3D layers.AdaptiveMaxPooling3D layers.AveragePooling3D layers.AvgPool3D layers.Conv3D "
        "layers.Conv3DTranspose layers.ConvLSTM3D layers.Convolution3D layers.Convolution3DTranspose layers.Cropping3D "
        "layers.GlobalAveragePooling3D layers.GlobalAvgPool3D layers.GlobalMaxPool3D layers.GlobalMaxPooling3D "
        "layers.MaxPool3D layers.MaxPooling3D layers.SpatialDropout3D layers.UpSampling3D layers.ZeroPadding3D",
    "videos: a convolution within a recurrence": "layers.ConvLSTM1D layers.ConvLSTM2D",
    "text and words, which are no numbers":
        "layers.HashedCrossing layers.Hashing layers.IntegerLookup layers.StringLookup layers.TextVectorization",
    "audio, and Fourier transforms":
        "layers.MelSpectrogram layers.STFTSpectrogram initializers.STFT initializers.STFTInitializer initializers.stft",
    "layers of other frameworks": "layers.FlaxLayer layers.JaxLayer layers.TFSMLayer layers.TorchModuleWrapper",
    "CTC: sequences without alignment, of speech and handwriting": "losses.CTC losses.ctc",
    "object detection": "layers.MaxNumBoundingBoxes",
    "language models": "layers.GroupQueryAttention layers.ReversibleEmbedding",
    "maps of pixels that are not affine: rare among augmentations": "layers.RandomElasticTransform layers.RandomPerspective",
    "masks of time steps": "layers.Masking",
    "base classes of Keras's own code": "layers.InputSpec layers.Wrapper",
    "a Sequential serves": "layers.Pipeline",
    "lower precision: cornu's numbers have 32 bits": "optimizers.LossScaleOptimizer",
    "several optimizers for one model": "optimizers.MultiOptimizer optimizers.OptimizerMap",
    "checkpoints of JAX": "callbacks.OrbaxCheckpoint",
}

# What is still to be built. A name that is there leaves this list.
TO_BE_BUILT = """
""".split()
TO_BE_BUILT_AT_FIRST = 0


def is_there(name: str) -> bool:
    module, _, member = name.rpartition(".")
    at = keras
    try:
        for part in (*MODULES[module].split("."), member):
            at = getattr(at, part)
    except NotImplementedError:
        return False
    return True


@pytest.fixture(scope="module")
def missing() -> set[str]:
    return {f"{module}.{member}" for module in MODULES for member in getattr(_keras_names, module)
            if not is_there(f"{module}.{member}")}


def with_reasons() -> list[str]:
    return [name for names in REASONS.values() for name in names.split()]


def test_each_of_kerass_names_is_there_or_has_a_reason_or_is_to_be_built(missing):
    assert sorted(missing - set(with_reasons()) - set(TO_BE_BUILT)) == []


def test_what_is_there_has_no_reason_and_is_not_to_be_built(missing):
    assert sorted((set(with_reasons()) | set(TO_BE_BUILT)) - missing) == []


def test_a_name_is_said_once_and_there_are_few_reasons():
    names = [*with_reasons(), *TO_BE_BUILT]
    assert len(names) == len(set(names)) and len(REASONS) <= 40


def test_what_is_to_be_built_gets_less():
    assert len(TO_BE_BUILT) <= TO_BE_BUILT_AT_FIRST
