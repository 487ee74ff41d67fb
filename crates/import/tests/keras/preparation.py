"""Layers that prepare data."""

import keras
from keras import layers as L


def rescaled_bytes():
    x = i = L.Input((5, 4, 3), dtype="uint8", name="ids")
    return keras.Model(i, [L.Rescaling(1 / 255.0, offset=-0.5)(x), L.Normalization(mean=2.0, variance=3.0)(x), L.CenterCrop(3, 2)(x)])


def resized():
    x = i = L.Input((7, 9, 3))
    outputs = [L.Resizing(5, 12, interpolation=how)(x) for how in ("bicubic", "lanczos3", "lanczos5")]
    outputs += [L.Resizing(4, 5, interpolation=how, antialias=True)(x) for how in ("nearest", "bilinear", "bicubic", "lanczos3")]
    outputs += [L.Resizing(4, 4, crop_to_aspect_ratio=True)(x), L.Resizing(8, 3, pad_to_aspect_ratio=True, fill_value=0.5)(x)]
    outputs += [L.CenterCrop(4, 6)(x), L.CenterCrop(9, 5)(x)]
    return keras.Model(i, [L.Conv2D(2, 1)(y) for y in outputs])


def enlarged():
    x = i = L.Input((3, 4, 2))
    return keras.Model(i, [L.UpSampling2D((2, 3), interpolation=how)(x) for how in ("bicubic", "lanczos3", "lanczos5")])


def encoded():
    x = i = L.Input((6,), dtype="int32", name="ids")
    outputs = [L.CategoryEncoding(5, output_mode=mode)(x) for mode in ("one_hot", "multi_hot", "count")]
    one = L.Input((1,), dtype="int32", name="ids_too")
    outputs += [L.CategoryEncoding(5, output_mode="one_hot")(one)]
    return keras.Model([i, one], [L.Dense(3)(y) for y in outputs])


def weighed_counts():
    """TensorFlow has no gradient for this."""
    x, w = L.Input((6,), dtype="int32", name="ids"), L.Input((6,))
    return keras.Model([x, w], L.CategoryEncoding(4, output_mode="count")(x, count_weights=w))


def intervals():
    x = i = L.Input((6,))
    bounds = [-0.6, -0.1, 0.0, 0.7]
    outputs = [L.Embedding(5, 2)(L.Discretization(bounds)(x))]
    outputs += [L.Dense(2)(L.Discretization(bounds, output_mode=mode)(x)) for mode in ("one_hot", "multi_hot", "count")]
    return keras.Model(i, outputs)


def looked_up():
    x = i = L.Input((6,), dtype="int64", name="ids")
    outputs = [
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[3, 1])(x)),
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[3, 1], num_oov_indices=2)(x)),
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[3, 1], num_oov_indices=3, oov_method="farmhash", salt=5)(x)),
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[0, -1, 3, 1], mask_token=0)(x)),
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[4, 3, 2, 1, 0], num_oov_indices=0)(x)),
        L.Embedding(7, 2)(L.IntegerLookup(vocabulary=[6, 5, 0], invert=True, oov_token=1)(x)),
        L.Dense(2)(L.IntegerLookup(vocabulary=[3, 1], output_mode="multi_hot", mask_token=2)(x)),
        L.Dense(2)(L.IntegerLookup(vocabulary=[3, 1], output_mode="count", max_tokens=6, pad_to_max_tokens=True)(x)),
        L.Dense(2)(L.IntegerLookup(vocabulary=[3, 1], output_mode="one_hot")(x)),
    ]
    return keras.Model(i, outputs)


def hashed():
    x = i = L.Input((6,), dtype="int32", name="ids")
    outputs = [L.Embedding(9, 2)(L.Hashing(bins, mask_value=mask, salt=salt)(x)) for bins, mask, salt in ((9, None, None), (5, 3, None), (7, 0, [4, 9]))]
    outputs += [L.Dense(2)(L.Hashing(5, output_mode=mode)(x)) for mode in ("multi_hot", "count")]
    return keras.Model(i, outputs)


LAYERS = {f.__name__: f for f in [rescaled_bytes, resized, enlarged, encoded, intervals, looked_up, hashed]}
PLAIN = {"weighed_counts": weighed_counts}
