"""Layers that change images by chance, where chance has no choice, and functions of keras.activations."""

import keras
from keras import layers as L


def seen():
    x = i = L.Input((6, 7, 3))
    modes = ["reflect", "wrap", "constant", "nearest"]
    outputs = [L.RandomRotation((f, f), fill_mode=m, fill_value=0.5)(x) for f, m in zip((0.13, -0.4, 0.77, 0.05), modes)]
    outputs += [L.RandomZoom((f, f), (g, g), fill_mode=m, interpolation=h)(x) for f, g, m, h in zip((0.3, -0.4, 0.2, 0.9), (-0.2, 0.5, 0.1, 0.3), modes, ["bilinear", "nearest"] * 2)]
    outputs += [L.RandomZoom((0.25, 0.25))(x)]
    outputs += [L.RandomTranslation((f, f), (g, g), fill_mode=m, fill_value=0.25)(x) for f, g, m in zip((0.3, -0.4, 0.9, 0.11), (-0.2, 0.6, 0.1, -0.9), modes)]
    return keras.Model(i, outputs)


def coloured():
    x = i = L.Input((6, 7, 3), name="pixels")
    outputs = [
        L.RandomBrightness((0.2, 0.2))(x),
        L.RandomGrayscale(1.0)(x),
        L.RandomColorDegeneration((0.4, 0.4))(x),
        L.RandomInvert((1.0, 1.0))(x),
        L.RandomSharpness((0.9, 0.9))(x),
        L.RandomErasing((0.0, 0.0))(x),
        L.AutoContrast()(x),
        L.RandomCrop(9, 4)(x),
    ]
    return keras.Model(i, outputs)


def unchanged():
    x = i = L.Input((6, 7, 3), name="pixels")
    for layer in [
        L.RandomFlip(), L.RandomContrast(0.2), L.RandomShear(0.2, 0.1), L.Solarization(0.3, 0.2), L.RandomErasing(), L.RandomSharpness(0.2),
        L.AlphaDropout(0.2), L.GaussianDropout(0.2), L.Identity(),
    ]:
        x = layer(x)
    return keras.Model(i, x)


def unknown_changes():
    """What is not done in training."""
    x = i = L.Input((6, 7, 3), name="pixels")
    for layer in [
        L.RandomHue(0.1), L.RandomSaturation(0.3), L.RandomPosterization(4), L.RandomPerspective(0.2), L.RandomGaussianBlur(0.5),
        L.RandomElasticTransform(), L.RandomColorJitter(), L.RandAugment(), L.AugMix(),
    ]:
        x = layer(x)
    return keras.Model(i, x)


def functions():
    x = i = L.Input((4, 6))
    names = "celu glu hard_shrink soft_shrink tanh_shrink squareplus sparse_plus sparse_sigmoid"
    outputs = [L.Activation(name)(L.Rescaling(3.0)(x)) for name in names.split()]
    given = [L.LeakyReLU(0.15), L.ELU(0.7), L.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2), L.Softmax(), L.Activation("tanh")]
    outputs += [L.Dense(3, activation=layer)(x) for layer in given]
    outputs += [L.Conv1D(2, 2, activation=L.LeakyReLU(0.2))(x), L.Identity()(x)]
    return keras.Model(i, outputs)


LAYERS = {"functions": functions}
TRAINED = {"seen": seen, "coloured": coloured}
PLAIN = {"unchanged": unchanged, "unknown_changes": unknown_changes}
