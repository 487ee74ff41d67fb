"""Writes the golden files of this folder: images and what Pillow makes of them, arrays by NumPy, records by TensorFlow,
texts and what Keras makes of them.

Run as: python make_golden.py [images|arrays|idx|records|texts ...]   (versions are in ORIGIN.md)
"""

import gzip
import io
import os
import struct
import sys

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = (12, 10)  # width, height


def path(*names):
    full = os.path.join(HERE, *names)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def photo(width, height, seed):
    """Smooth colours with some noise, as photographs have them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    waves = [127 + 110 * np.sin(6 * x * a + 5 * y * b + c) for a, b, c in rng.random((3, 3)) * 2]
    return np.clip(np.stack(waves, -1) + rng.normal(0, 4, (height, width, 3)), 0, 255).astype(np.uint8)


def images():
    expected = {}

    def keep(name, image, **options):
        image.save(path("images", name), **options)
        turned = ImageOps.exif_transpose(Image.open(path("images", name)))
        for mode, channels in (("RGB", 3), ("L", 1)):
            small = turned.convert(mode).resize(SIZE, Image.BILINEAR)
            expected[f"{name}:{channels}"] = np.asarray(small, np.float32).reshape(SIZE[1], SIZE[0], channels)

    colour = Image.fromarray(photo(61, 47, 1))
    keep("a/baseline.jpg", colour, quality=92)
    keep("a/progressive.jpg", colour, quality=92, progressive=True)
    keep("a/restarts.jpg", Image.fromarray(photo(70, 33, 2)), quality=85, restart_marker_blocks=2)
    keep("a/full.jpg", Image.fromarray(photo(33, 70, 3)), quality=95, subsampling=0)
    keep("a/grey.jpg", colour.convert("L"), quality=92)
    for turn in range(2, 9):
        exif = Image.Exif()
        exif[0x0112] = turn
        keep(f"b/turn{turn}.jpg", colour, quality=92, exif=exif)
    keep("c/colour.png", colour)
    keep("c/grey.png", colour.convert("L"))
    keep("c/palette.png", colour.quantize(16))
    keep("c/bits.png", colour.convert("1"))
    alpha = colour.copy()
    alpha.putalpha(Image.fromarray(photo(61, 47, 4)[..., 0]))
    keep("c/alpha.png", alpha)
    keep("c/grey_alpha.png", alpha.convert("LA"))
    keep("c/tiny.png", Image.fromarray(photo(5, 3, 5)))
    keep("c/same.png", Image.fromarray(photo(*SIZE, 6)))
    # Pillow does not resize 16 bits in one channel as it does 8, but it does floats.
    deep = photo(61, 47, 7)[..., 0].astype(np.uint16) * 257 - 100
    Image.fromarray(deep).save(path("images", "c/deep.png"))
    small = Image.fromarray(deep.astype(np.float32) / 257).resize(SIZE, Image.BILINEAR)
    expected["c/deep.png:1"] = np.asarray(small, np.float32)[..., None]
    expected["c/deep.png:3"] = np.repeat(expected["c/deep.png:1"], 3, -1)
    np.savez(path("expected.npz"), **{name.replace("/", "-"): value for name, value in expected.items()})


def ramp(*shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


def arrays():
    x, y = (ramp(6, 4, 3) % 251).astype(np.uint8), np.array([0, 1, 2, 2, 1, 0], np.int64)
    np.savez(path("stored.npz"), x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    np.savez_compressed(path("packed.npz"), x=x, y=y)
    kinds = ["?", "u1", "i1", "<u2", ">u2", "<i2", ">i4", "<u4", "<u8", ">i8", "<f2", "<f4", ">f4", "<f8"]
    for kind in kinds:
        name = np.dtype(kind).name + ("_big" if kind.startswith(">") else "")
        np.save(path("kinds", f"{name}.npy"), (ramp(5, 2, 2) % 100).astype(kind))
    np.save(path("kinds", "version2.npy"), (ramp(5, 2, 2) % 100).astype("<f4"))
    with open(path("kinds", "version2.npy"), "wb") as file:
        np.lib.format.write_array(file, (ramp(5, 2, 2) % 100).astype("<f4"), version=(2, 0))


def idx():
    """As MNIST has them, one part packed and one not."""
    def write(name, array, opened=open):
        with opened(path("idx", name), "wb") as file:
            file.write(struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape))
            file.write(array.astype(np.uint8).tobytes())

    def packed(name, mode):
        return gzip.GzipFile(name, mode, mtime=0)

    write("train-images-idx3-ubyte.gz", ramp(9, 4, 4), packed)
    write("train-labels-idx1-ubyte.gz", ramp(9) % 3, packed)
    write("t10k-images-idx3-ubyte", ramp(4, 4, 4))
    write("t10k-labels-idx1-ubyte", ramp(4) % 3)


def records():
    def feature(value):
        if isinstance(value, bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        if np.asarray(value).dtype.kind == "f":
            return tf.train.Feature(float_list=tf.train.FloatList(value=value))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    def example(**values):
        features = {name: feature(value) for name, value in values.items()}
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    for shard in range(2):
        with tf.io.TFRecordWriter(path("records", f"numbers-{shard}.tfrecord")) as writer:
            for number in range(shard * 3, shard * 3 + 3):
                writer.write(example(x=[number + 0.5, -number], ids=[number, 1 << 20, 7], label=[number % 2]))
    with tf.io.TFRecordWriter(path("pictures.tfrecord")) as writer:
        for number in range(2):
            packed = io.BytesIO()
            Image.fromarray(photo(20 + number, 16, number)).save(packed, "png")
            writer.write(example(**{"image/encoded": packed.getvalue(), "image/class/label": [number]}))


def texts():
    """Words drawn at random, with capitals, punctuation, other letters and all sorts of white space between them."""
    rng = np.random.default_rng(7)
    words = ["The", "the", "cat", "CAT's", "sat", "on", "mat,", "mat", "...", "don't", "Ärger", "ärger", "naïve", "e-mail",
             "3.14", "(x)", "[UNK]", "日本", "a_b", "z", "zz", "y"] + [f"w{number}" for number in range(40)]
    spaces = [" ", "  ", "\n", "\t", "\r\n", "\u00a0"]
    files = []
    for name in ("bad", "good"):
        for number in range(12):
            count = int(rng.integers(0, 30))
            drawn = [words[min(int(rng.exponential(12)), len(words) - 1)] for _ in range(count)]
            text = "".join(word + spaces[rng.integers(len(spaces))] for word in drawn)
            with open(path("texts", name, f"{number:02}.txt"), "wb") as file:
                file.write(text.encode())
            files.append(text)
    expected = {}
    for most in (20, 1000):
        layer = tf.keras.layers.TextVectorization(max_tokens=most, output_sequence_length=10)
        layer.adapt(files)
        expected[f"words{most}"] = np.asarray(layer(files)).astype("f4")
        expected[f"below{most}"] = np.array([layer.vocabulary_size()], "f4")
    np.savez(path("texts.npz"), **expected)


for make in (images, arrays, idx, records, texts):
    if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
        make()
print("numpy", np.__version__, "tensorflow", tf.__version__, "pillow", Image.__version__)
