"""Exchanges files with Python's safetensors.

    python python.py write weights.safetensors   # the golden file of tests/safetensors.rs
    python python.py read FILE                   # prints what Python finds in a file of ours, for a look at it
"""

import sys

import numpy
import safetensors
from safetensors import TensorSpec, safe_open


def write(path):
    """A file as others write it: no metadata of ours, four element types, a scalar, an empty tensor."""
    tensors = {
        "dense/kernel": ("float32", numpy.arange(6, dtype="<f4").reshape(2, 3)),
        "dense/bias": ("float32", numpy.array([0.1, 0.2, 0.3], dtype="<f4")),
        "half": ("float16", numpy.array([0.5, -2.0, 65504.0], dtype="<f2")),
        "brain": ("bfloat16", numpy.array([0x3F80, 0xC000], dtype="<u2")),  # 1 and -2
        "count": ("int32", numpy.array(-7, dtype="<i4")),
        "nothing": ("float32", numpy.zeros([0, 4], dtype="<f4")),
    }

    def spec(dtype, array):
        return TensorSpec(dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)

    specs = {name: spec(dtype, array) for name, (dtype, array) in tensors.items()}
    with open(path, "wb") as file:
        file.write(safetensors.serialize(specs, {"format": "np"}))


def read(path):
    with safe_open(path, framework="numpy") as file:
        for name, text in sorted((file.metadata() or {}).items()):
            print(f"{name} = {text[:100]}")
        for name in file.keys():
            tensor = file.get_slice(name)
            print(name, tensor.get_dtype(), tensor.get_shape())
            if tensor.get_dtype() != "BF16":
                whole = file.get_tensor(name)
                print("   ", whole.dtype, "sum", whole.sum(dtype="float64") if whole.size else 0)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
