"""Images a second of a folder of JPEG files as shuffled 224x224 float batches of 32: plimsoll data, tf.data with AUTOTUNE
and a DataLoader of torch, one after the other, several times, with the memory each takes and the processor time.

tf.data resizes as we do, antialiased; `tf.data, plain` does it as Keras does without being told, which is less work.

Run as: python compare.py FOLDER PLIMSOLL ROUNDS [PYTHON_WITH_TORCH]   (make_photos.py makes the folder)
"""

import json
import os
import subprocess
import sys

START = '''
import os, sys, time, resource
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def most(who):
    return resource.getrusage(who).ru_maxrss * 1024
'''

TF = START + '''
import tensorflow as tf
files, labels = [], []
for number, name in enumerate(sorted(os.listdir(sys.argv[1]))):
    for file in sorted(os.listdir(os.path.join(sys.argv[1], name))):
        files.append(os.path.join(sys.argv[1], name, file)); labels.append(number)
def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (224, 224), antialias=ANTIALIAS)
    return image / 255.0, label
data = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(len(files), seed=0)
data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
before, start, worked, count = resident(), time.time(), time.process_time(), 0
for images, labels in data:
    count += images.shape[0]
print(count / (time.time() - start), (time.process_time() - worked) / count, most(resource.RUSAGE_SELF) - before)
'''

TORCH = START + '''
import torch, torchvision
tools = torchvision.transforms
steps = tools.Compose([tools.Resize((224, 224), antialias=True), tools.ToTensor()])
data = torchvision.datasets.ImageFolder(sys.argv[1], steps)
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=os.cpu_count())
before, start, worked, count = resident(), time.time(), sum(os.times()[:4]), 0
for images, labels in loader:
    count += images.shape[0]
seconds = time.time() - start
# Workers share the pages that they had at the beginning.
workers = os.cpu_count() * (most(resource.RUSAGE_CHILDREN) - before)
print(count / seconds, (sum(os.times()[:4]) - worked) / count, most(resource.RUSAGE_SELF) - before + workers)
'''


def peer(python, script, folder):
    """Images a second, processor seconds an image, bytes of resident growth."""
    done = subprocess.run([python, "-c", script, folder], capture_output=True, text=True)
    return None if done.returncode else [float(word) for word in done.stdout.split()[-3:]]


def plimsoll(binary, folder):
    """The same of our own; all of the process counts as growth."""
    command = [binary, "data", folder, "--quick", "--size", "224", "--batch", "32", "--input-memory", "96MiB", "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    report = json.loads(child.stdout.read())
    usage = os.wait4(child.pid, 0)[2]
    rate = report["rate"]
    stages = rate["read_seconds"] + rate["decode_seconds"] + rate["resize_seconds"]
    return [rate["samples_per_second"], stages, usage.ru_maxrss * 1024.0]


def main(folder, binary, rounds, torch):
    peers = [("tf.data", sys.executable, TF.replace("ANTIALIAS", "True")),
             ("tf.data, plain", sys.executable, TF.replace("ANTIALIAS", "False")), ("torch", torch, TORCH)]
    for number in range(rounds):
        print(f"round {number + 1}")
        found = [("plimsoll", plimsoll(binary, folder))]
        found += [(name, peer(python, script, folder)) for name, python, script in peers]
        for name, figures in found:
            if figures:
                rate, seconds, growth = figures
                print(f"  {name:15} {rate:7.0f} images/s  {1e3 * seconds:5.2f} ms an image and thread  "
                      f"{growth / 2**20:6.0f} MiB more resident")
            else:
                print(f"  {name:15} did not run")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else sys.executable)
