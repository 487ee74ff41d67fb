#!/usr/bin/env python3
"""Measures what TensorFlow takes: python measure.py configurations.csv > measured.csv

Every line of the configurations is trained for three steps in a process of its own (train_steps.py), with TensorFlow's BFC allocator in charge of the CPU's tensors and every
allocation written down by bfctrace.c. `t_req_peak` is the most requested bytes live at once in the last step, `t_chk_peak` the same in chunks, which is what TensorFlow reports.
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = ["model", "size", "batch", "opt", "precision", "mode", "accum"]
SETTINGS = ["onednn", "threads", "jit"]  # columns that a table may have
MEASURED = ["t_req0", "t_req_peak", "t_chk_peak"]


def build_shim():
    shim = pathlib.Path(tempfile.gettempdir()) / "bfctrace.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(HERE / "bfctrace.c"), "-o", str(shim), "-ldl"], check=True, stderr=subprocess.DEVNULL)
    return shim


def trace(row, shim, path):
    options = [part for field in FIELDS + SETTINGS if field in row for part in (f"--{field}", row[field])]
    environment = dict(os.environ, BFCTRACE=path, BFCTRACE_SO=str(shim), LD_PRELOAD=str(shim), TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB="20000")
    subprocess.run([sys.executable, str(HERE / "train_steps.py"), *options], env=environment, check=True, stderr=subprocess.DEVNULL)


def analyse(path):
    """Live bytes before the last step and their most during it."""
    live, requested, chunks = {}, 0, 0
    result = {}
    for line in open(path):
        parts = line.split()
        if parts[0] == "A" and parts[1] != "0":
            live[parts[1]] = (int(parts[2]), int(parts[3]))
            requested, chunks = requested + int(parts[2]), chunks + int(parts[3])
        elif parts[0] == "F" and parts[1] in live:
            bytes_requested, bytes_chunk = live.pop(parts[1])
            requested, chunks = requested - bytes_requested, chunks - bytes_chunk
        elif line.startswith("M step") and line.endswith("begin\n"):
            result = {"t_req0": requested, "t_req_peak": 0, "t_chk_peak": 0}
        if result:
            result["t_req_peak"] = max(result["t_req_peak"], requested)
            result["t_chk_peak"] = max(result["t_chk_peak"], chunks)
    return result


def main():
    shim = build_shim()
    rows = list(csv.DictReader(open(sys.argv[1])))
    settings = [field for field in SETTINGS if field in rows[0]]
    writer = csv.DictWriter(sys.stdout, FIELDS + settings + MEASURED, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.txt")
            try:
                trace(row, shim, path)
            except subprocess.CalledProcessError as error:
                print(f"{row}: {error}", file=sys.stderr)
                continue
            writer.writerow({**row, **analyse(path)})
            sys.stdout.flush()


if __name__ == "__main__":
    main()
