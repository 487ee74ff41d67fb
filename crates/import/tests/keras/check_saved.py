"""Opens files that plimsoll has saved with keras.models.load_model and compares predictions and losses with plimsoll's.

    python check_saved.py FILE.keras ...
"""

import json
import os
import subprocess
import sys

import keras
import numpy as np

import make_files
from make_keras import fnv, hashes, predictions, units

for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    command = ["cargo", "test", "-q", "-p", "plimsoll-import", "--test", "keras", "--", "--ignored", "--nocapture", "predictions_of_a_file"]
    output = subprocess.run(command, env={**os.environ, "PLIMSOLL_KERAS_FILE": os.path.abspath(path)}, capture_output=True, text=True)
    line = next(line for line in output.stdout.splitlines() if "predictions [" in line)
    ours = json.loads(line[line.index("["):])
    theirs = predictions(model)
    difference = max(np.abs(np.array(a) - np.array(b)).max() for a, b in zip(ours, theirs))
    x, y = make_files.batch(model, units, hashes, fnv, count=2)
    chosen = np.array(ours[0]).reshape(2, -1)[np.arange(2), y]
    loss, mine = model.evaluate(x, y, verbose=0), float(-np.log(chosen).mean())
    print(f"{path}: predictions differ by {difference:.2e}; loss {loss:.6f} in Keras, {mine:.6f} from our predictions")
