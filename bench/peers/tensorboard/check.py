"""Reads what `plimsoll export --to tensorboard` writes with TensorFlow's and TensorBoard's own readers, and compares it with the CSV of the same trace.

    plimsoll train cnn --data digits --steps 1 --trace run.trace
    plimsoll export run.trace --to tensorboard -o FOLDER
    plimsoll export run.trace --to csv -o run.csv
    python check.py FOLDER run.csv

Needs tensorflow (2.21 was used) with its tensorboard. Fails unless every record has a good checksum and the scalars are those of the CSV.
"""
import collections, csv, glob, os, sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder, table = sys.argv[1:3]
[path] = glob.glob(os.path.join(folder, "*tfevents*"))

# TensorFlow checks the masked CRC-32C of every length and every record.
events = [tf.compat.v1.Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset(path)]
assert events[0].file_version == "brain.Event:2", events[0]

accumulator = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
accumulator.Reload()
tags = accumulator.Tags()["scalars"]
assert "memory MiB/live" in tags, tags

# The live bytes of each role at each op, from the rows of the CSV. (Ops that are repeated have no rows, so a run of one step is compared.)
live = collections.defaultdict(lambda: collections.Counter())
with open(table) as file:
    for row in csv.DictReader(file):
        begin, end = int(row["begin"]), int(row["end"])
        for op in range(begin, end):
            live[row["role"]][op] += int(row["bytes"])
compared = 0
for role, ops in live.items():
    scalars = {event.step: event.value for event in accumulator.Scalars(f"memory MiB/{role}")}
    for op, value in scalars.items():
        if op in ops:
            assert abs(value * 2**20 - ops[op]) <= 1e-6 * ops[op], (role, op, value * 2**20, ops[op])
            compared += 1
print(f"{len(events)} records, {len(tags)} scalars, {compared} values equal to the CSV: {', '.join(tags)}")
assert compared > 0
