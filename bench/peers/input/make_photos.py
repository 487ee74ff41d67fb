"""Writes a folder of JPEG files that are as hard to decode as photographs: smooth shapes, edges, texture and noise.

Three classes that differ visibly (circles, stripes, checks), sizes from 320x240 to 800x600, some grey, some progressive,
some turned by EXIF.

Run as: python make_photos.py FOLDER COUNT
"""

import os
import sys

import numpy as np
from PIL import Image

CLASSES = ["checks", "circles", "stripes"]


def photo(rng, name):
    width, height = int(rng.integers(320, 800)), int(rng.integers(240, 600))
    small = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
    ground = np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC), np.float32)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    scale = rng.uniform(30, 70)
    if name == "circles":
        cy, cx = rng.uniform(0.3, 0.7, 2) * (height, width)
        shape = np.sin(np.hypot(y - cy, x - cx) / scale * 6)
    elif name == "stripes":
        shape = np.sin((x + y * rng.uniform(-0.3, 0.3)) / scale * 6)
    else:
        shape = np.sin(x / scale * 6) * np.sin(y / scale * 6) * 2
    image = ground * 0.6 + 50 + 60 * np.clip(shape, -0.7, 0.7)[..., None] * rng.uniform(0.6, 1, 3)
    noise = rng.normal(0, 6, (height // 2 + 1, width // 2 + 1, 3)).astype(np.float32)
    image += np.repeat(np.repeat(noise, 2, 0), 2, 1)[:height, :width]
    return Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))


def main(folder, count):
    for name in CLASSES:
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for number in range(count):
        rng = np.random.default_rng(number)
        name = CLASSES[number % 3]
        image = photo(rng, name)
        options = {"quality": int(rng.integers(80, 95))}
        if number % 20 == 0:
            image = image.convert("L")
        if number % 10 == 1:
            options["progressive"] = True
        if number % 25 == 2:
            exif = Image.Exif()
            exif[0x0112] = int(rng.integers(2, 9))
            options["exif"] = exif
        image.save(os.path.join(folder, name, f"{number:05}.jpg"), **options)


main(sys.argv[1], int(sys.argv[2]))
