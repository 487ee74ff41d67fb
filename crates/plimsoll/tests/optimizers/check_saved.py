"""Lets Keras go on from files that Plimsoll has saved, and compares with how it went on from its own.

    OPTIMIZER_FOLDER=$PWD/saved cargo nextest run -p plimsoll --test optimizers runs_go_on
    python check_saved.py saved
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np

HERE = Path(__file__).parent
golden = json.loads((HERE / "cases.json").read_text())
ids = np.array(golden["ids"], "int32")
targets = np.array(golden["targets"], "float32").reshape(2, 4, 2)
for case in golden["resumed"]:
    model = keras.models.load_model(Path(sys.argv[1]) / case["file"])
    if getattr(model.optimizer, "use_ema", False):
        # What is saved are the averages, as after `fit`; Keras's own file was saved in the middle.
        continue
    assert int(model.optimizer.iterations.numpy()) == 3, case["file"]
    losses = [float(model.train_on_batch(ids[step % 2], targets[step % 2])) for step in range(3, 6)]
    far = np.max(np.abs(np.array(losses) - case["losses"]))
    print(f"{case['file']}: {far:.1e}", "" if far < 1e-5 else "DIFFERENT")
