#!/usr/bin/env python3
"""Write the small pytorch_model.bin files of tests/data/torch, without PyTorch.

The classes below have the names of torch's classes, so that pickle writes what torch.save() would write. Run from the
root of the checkout: tools/make_torch_fixtures.py
"""

import collections
import pathlib
import pickle
import struct
import sys
import types
import zipfile

MAGIC = 0x1950A86A20F9469CFC6C
FORMATS = {"Float": "f", "Double": "d", "Long": "q", "Half": "e", "BFloat16": "H", "Bool": "?"}


def module(name):
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]


torch, utils = module("torch"), module("torch._utils")
torch._utils = utils
STORAGE_CLASSES = {}
for kind in FORMATS:
    STORAGE_CLASSES[kind] = type(kind + "Storage", (), {"__module__": "torch"})
    setattr(torch, kind + "Storage", STORAGE_CLASSES[kind])


def _rebuild_tensor_v2(*args):
    raise NotImplementedError


def _rebuild_parameter(*args):
    raise NotImplementedError


for function in (_rebuild_tensor_v2, _rebuild_parameter):
    function.__module__ = "torch._utils"
    setattr(utils, function.__name__, function)


class Storage:
    def __init__(self, key, kind, values):
        self.key, self.kind, self.count = key, kind, len(values)
        self.bytes = struct.pack("<%d%s" % (len(values), FORMATS[kind]), *values)


class Tensor:
    def __init__(self, storage, offset, shape, stride):
        self.args = (storage, offset, shape, stride, False, collections.OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.args


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return _rebuild_parameter, (self.tensor, True, collections.OrderedDict())


class Pickler(pickle.Pickler):
    """Writes storages as persistent objects; the older format has one more field."""

    def __init__(self, file, older):
        super().__init__(file, protocol=2)
        self.older = older

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        name = ("storage", STORAGE_CLASSES[value.kind], value.key, "cpu", value.count)
        return name + (None,) if self.older else name


def model():
    weights = Storage("0", "Float", [0.5 * i for i in range(12)])
    half = Storage("1", "Half", [1.5, -2.0])
    brain = Storage("2", "BFloat16", [0x3F80, 0xC000, 0x4049])
    count = Storage("3", "Long", [7])
    flags = Storage("4", "Bool", [True, False, True])
    state = collections.OrderedDict()
    state["dense"] = Parameter(Tensor(weights, 0, (3, 4), (4, 1)))
    state["transposed"] = Tensor(weights, 0, (4, 3), (1, 4))
    state["part"] = Tensor(weights, 8, (4,), (1,))
    state["half"] = Tensor(half, 0, (1, 2), (2, 1))
    state["brain"] = Tensor(brain, 0, (3,), (1,))
    state["scalar"] = Tensor(count, 0, (), ())
    state["flags"] = Tensor(flags, 0, (3,), (1,))
    state["none"] = Tensor(flags, 0, (0, 5), (5, 1))
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    return state, [weights, half, brain, count, flags]


def pickled(value, older=False):
    import io

    file = io.BytesIO()
    Pickler(file, older).dump(value)
    return file.getvalue()


def write_archive(path, state, storages, compression=zipfile.ZIP_STORED, order=b"little"):
    with zipfile.ZipFile(path, "w", compression) as archive:

        def add(name, data):
            archive.writestr(zipfile.ZipInfo("model/" + name, (1980, 1, 1, 0, 0, 0)), data, compression)

        add("data.pkl", pickled(state))
        add("byteorder", order)
        for storage in storages:
            add("data/" + storage.key, storage.bytes)
        add("version", b"3\n")


def write_older(path, state, storages):
    with open(path, "wb") as file:
        file.write(pickled(MAGIC) + pickled(1001))
        file.write(pickled({"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}))
        file.write(pickled(state, older=True) + pickled([storage.key for storage in storages]))
        for storage in storages:
            file.write(struct.pack("<q", storage.count) + storage.bytes)


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("touch executed",)


def main():
    folder = pathlib.Path("tests/data/torch")
    folder.mkdir(parents=True, exist_ok=True)
    state, storages = model()
    write_archive(folder / "archive.bin", state, storages)
    write_older(folder / "older.bin", state, storages)
    write_archive(folder / "compressed.bin", state, storages, compression=zipfile.ZIP_DEFLATED)
    write_archive(folder / "big_endian.bin", state, storages, order=b"big")
    write_archive(folder / "missing_storage.bin", state, storages[1:])
    write_archive(folder / "evil.bin", {"weight": Evil()}, [])
    write_archive(folder / "nested.bin", {"epoch": 3, "model": state}, storages)


main()
