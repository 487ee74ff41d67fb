"""Images a second of a folder of JPEG files as shuffled 224x224 float batches of 32: plimsoll data, tf.data and a
DataLoader of torch (where torch is installed), one after the other, several times, and the memory each takes.

Run as: python compare.py FOLDER PLIMSOLL [ROUNDS]   (make_photos.py makes the folder)
"""

import json
import os
import resource
import subprocess
import sys
import time

TF = '''
import os, sys, time, resource
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
files, labels = [], []
for number, name in enumerate(sorted(os.listdir(sys.argv[1]))):
    for file in sorted(os.listdir(os.path.join(sys.argv[1], name))):
        files.append(os.path.join(sys.argv[1], name, file)); labels.append(number)
def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (224, 224), antialias=True)
    return image / 255.0, label
data = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(len(files), seed=0)
data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
before = resident()
start, count = time.time(), 0
for images, labels in data:
    count += images.shape[0]
print(count / (time.time() - start), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)
'''

TORCH = '''
import os, sys, time, resource
import torch, torchvision
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
tools = torchvision.transforms
steps = tools.Compose([tools.Resize((224, 224), antialias=True), tools.ToTensor()])
data = torchvision.datasets.ImageFolder(sys.argv[1], steps)
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=os.cpu_count())
before = resident()
start, count = time.time(), 0
for images, labels in loader:
    count += images.shape[0]
both = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * os.cpu_count()
print(count / (time.time() - start), both * 1024 - before)
'''


def python(script, folder):
    done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True)
    if done.returncode:
        return None
    return tuple(float(word) for word in done.stdout.split()[-2:])


def plimsoll(binary, folder):
    done = subprocess.run([binary, "data", folder, "--quick", "--size", "224", "--batch", "32", "--input-memory",
                           "128MiB", "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return report["rate"]["samples_per_second"], float(report["peak_bytes"]), report["rate"]


def main(folder, binary, rounds):
    for number in range(rounds):
        print(f"round {number + 1}")
        rate, peak, stages = plimsoll(binary, folder)
        print(f"  plimsoll  {rate:7.0f} images/s  {peak / 2**20:6.0f} MiB accounted  {stages}")
        for name, script in (("tf.data", TF), ("torch", TORCH)):
            found = python(script, folder)
            print(f"  {name:8}  {found[0]:7.0f} images/s  {found[1] / 2**20:6.0f} MiB more resident" if found
                  else f"  {name:8}  not installed")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
