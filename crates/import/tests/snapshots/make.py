"""Writes small pickles in the form of PyTorch's memory snapshots, in every protocol, and hostile ones. Needs Python only."""
import collections, os, pickle, sys

here = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20


def frames(*calls):
    return [{"filename": file, "line": line, "name": name} for file, line, name in calls]


model = frames(("/opt/torch/nn/functional.py", 9, "linear"), ("train.py", 41, "forward"))
data = frames(("train.py", 12, "load"))


def block(address, size, state, requested, frames):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames}


base = 0x7F2A00000000
segments = [
    {"device": 0, "address": base, "total_size": 20 * MIB, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
     "is_expandable": False, "blocks": [
         block(base, 6 * MIB, "active_allocated", 6 * MIB - 100, model),
         block(base + 6 * MIB, 5 * MIB, "inactive", 0, []),
         block(base + 11 * MIB, 2 * MIB, "active_pending_free", 2 * MIB, data),
         block(base + 13 * MIB, 7 * MIB, "inactive", 0, []),
     ]},
    {"device": 0, "address": base + 64 * MIB, "total_size": 2 * MIB, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
     "is_expandable": False, "blocks": [block(base + 64 * MIB, 2 * MIB, "active_allocated", MIB, data)]},
    {"device": 1, "address": base, "total_size": 2 * MIB, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
     "is_expandable": False, "blocks": [block(base, 2 * MIB, "inactive", 0, [])]},
]
events = [
    {"action": "alloc", "addr": base, "size": 6 * MIB, "stream": 0, "frames": model, "time_us": 10},
    {"action": "alloc", "addr": base + 6 * MIB, "size": 5 * MIB, "stream": 0, "frames": model, "time_us": 20},
    {"action": "free_requested", "addr": base + 6 * MIB, "size": 5 * MIB, "stream": 0, "frames": model, "time_us": 30},
    {"action": "free_completed", "addr": base + 6 * MIB, "size": 5 * MIB, "stream": 0, "frames": model, "time_us": 31},
    {"action": "free_completed", "addr": base + 99 * MIB, "size": MIB, "stream": 0, "frames": [], "time_us": 32},
    {"action": "oom", "size": 10 * MIB, "device_free": 3 * MIB, "stream": 0, "frames": model, "time_us": 40},
]
snapshot = {"segments": segments, "device_traces": [events, []],
            "allocator_settings": collections.OrderedDict(expandable_segments=False, ratio=0.5, last=None)}
for protocol in range(6):
    with open(os.path.join(here, f"snapshot.protocol{protocol}.pickle"), "wb") as file:
        pickle.dump(snapshot, file, protocol)


class Calls:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


class Plain:
    pass


plain = Plain()
plain.x = 1
hostile = {"system": Calls(os.system, "true"), "eval": Calls(eval, "1"), "class": plain, "open": Calls(open, "x")}
for name, thing in hostile.items():
    for protocol in (0, 2, 4):
        with open(os.path.join(here, f"hostile.{name}.protocol{protocol}.pickle"), "wb") as file:
            pickle.dump({"segments": [thing]}, file, protocol)
