"""Convolutions and pooling of volumes, transposed convolutions, pooling to a given size, channels first."""

import keras
from keras import layers as L


def convolved_volumes():
    x = i = L.Input((5, 6, 4, 4))
    a = L.Conv3D(4, (3, 2, 3), padding="same", groups=2, activation="tanh")(x)
    b = L.Conv3D(3, (2, 3, 2), strides=(2, 1, 2), use_bias=False)(x)
    c = L.Conv3D(3, 2, dilation_rate=(2, 1, 1))(x)
    d = L.Conv3D(2, 3, strides=2, padding="same")(L.BatchNormalization()(a))
    return keras.Model(i, [a, b, c, d])


def transposed():
    x = i = L.Input((3, 2, 4, 3))
    a = L.Conv3DTranspose(2, (3, 2, 3), strides=(2, 1, 2), padding="same", activation="sigmoid")(x)
    b = L.Conv3DTranspose(2, (2, 3, 1), strides=(3, 1, 2), use_bias=False)(x)
    c = L.Conv3DTranspose(2, 3, strides=2, output_padding=1)(x)
    y = L.Reshape((6, 12))(x)
    d = L.Conv1DTranspose(3, 3, strides=2, padding="same")(y)
    e = L.Conv1DTranspose(3, 2, strides=3, output_padding=1, activation="relu")(y)
    f = L.Conv1DTranspose(3, 3, dilation_rate=2, use_bias=False)(y)
    return keras.Model(i, [a, b, c, d, e, f])


def sized_volumes():
    x = i = L.Input((4, 5, 6, 2))
    a = L.MaxPooling3D((2, 3, 2), strides=(1, 2, 3), padding="same")(x)
    b = L.AveragePooling3D(2, strides=(2, 1, 3), padding="same")(x)
    c = L.ZeroPadding3D(((1, 0), (2, 1), (0, 3)))(L.Cropping3D(((1, 1), (0, 2), (2, 1)))(x))
    d = L.UpSampling3D((2, 1, 3))(x)
    e = L.Concatenate()([L.GlobalMaxPooling3D()(x), L.GlobalAveragePooling3D()(x)])
    f = L.SpatialDropout3D(0.0)(L.GlobalMaxPooling3D(keepdims=True)(x))
    return keras.Model(i, [a, b, c, d, e, f])


def adapted_pooling():
    x = i = L.Input((5, 7, 4, 2))
    outputs = [L.AdaptiveAveragePooling3D((2, 3, 4))(x), L.AdaptiveMaxPooling3D(3)(x)]
    y = L.Reshape((7, 20, 2))(x)
    outputs += [L.AdaptiveAveragePooling2D((3, 5))(y), L.AdaptiveMaxPooling2D((7, 8))(y)]
    z = L.Reshape((14, 20))(x)
    outputs += [L.AdaptiveAveragePooling1D(4)(z), L.AdaptiveMaxPooling1D(3)(z)]
    return keras.Model(i, outputs)


def channels_first():
    x = i = L.Input((4, 6, 5))
    first = {"data_format": "channels_first"}
    a = L.Conv2D(3, 3, padding="same", activation="relu", **first)(x)
    a = L.BatchNormalization(axis=1)(a)
    b = L.MaxPooling2D(2, **first)(a)
    c = L.Conv2DTranspose(2, 3, strides=2, **first)(b)
    d = L.GlobalAveragePooling2D(**first)(c)
    e = L.Flatten(**first)(b)
    f = L.ZeroPadding2D(1, **first)(L.UpSampling2D(2, **first)(b))
    g = L.DepthwiseConv2D(2, depth_multiplier=2, **first)(f)
    h = L.SeparableConv2D(2, 2, **first)(f)
    return keras.Model(i, [a, c, d, L.Dense(2)(e), g, h])


LAYERS = {f.__name__: f for f in [convolved_volumes, transposed, sized_volumes, adapted_pooling, channels_first]}
