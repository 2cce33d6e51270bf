"""Writes archives as torch.save does: a zip file of a pickle and of the storages' bytes."""

import io
import os
import pickle
import sys
import tempfile
import zipfile
from collections import OrderedDict

from shunt import _C
from shunt._reduction import state_of, unhandled
from shunt._tensor import Tensor
from shunt.nn.parameter import Parameter
from shunt.serialization._names import DTYPE_NAMES, STORAGE_OF

_OURS = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)


class _Global:
    """Stands for a class or function of torch's, which need not be installed."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):  # pickle wants what it calls to be callable
        raise TypeError


class _Storage:
    """The persistent id of a storage."""

    def __init__(self, identity):
        self.identity = identity


class _Pickler(pickle._Pickler):
    """The pickler that is written in Python: it lets a name be written without importing its module."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}  # by address: number in the archive, and the tensor of all its bytes

    def save_named(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[_Global] = save_named

    def persistent_id(self, obj):
        return obj.identity if isinstance(obj, _Storage) else None

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            # A class that says itself how its objects are made is asked by pickle.
            if type(obj).__reduce_ex__ not in _OURS or _C._is_wrapper_subclass(obj):
                return NotImplemented
            with unhandled():
                return self._parameter(obj) if type(obj) is Parameter else self._with_state(obj)
        if isinstance(obj, _C.Size):
            return _named("torch", "Size"), (tuple(obj),)
        if isinstance(obj, _C.device):
            return _named("torch", "device"), (str(obj),)
        return NotImplemented  # as pickle does: load() refuses its class unless the program allows it

    def _parameter(self, parameter):
        made, state = (parameter.data, parameter.requires_grad, OrderedDict()), state_of(parameter)
        if state is None:
            return _named("torch._utils", "_rebuild_parameter"), made
        return _named("torch._utils", "_rebuild_parameter_with_state"), (*made, state)

    def _with_state(self, tensor):
        """A tensor with its class and attributes, where it has some of its own."""
        rebuild, arguments = self._tensor(tensor)
        cls, state = type(tensor), state_of(tensor)
        if cls is Tensor and state is None:
            return rebuild, arguments
        named = _named("torch", "Tensor") if cls is Tensor else cls
        return _named("torch._tensor", "_rebuild_from_type_v2"), (rebuild, named, arguments, state)

    def _tensor(self, tensor):
        requires_grad = tensor.requires_grad
        tensor = tensor.detach()
        if not tensor.is_cpu:
            raise TypeError(f"save(): a tensor on {tensor.device} has no elements to save; copy it to the CPU")
        storage = tensor.untyped_storage()
        address = storage.data_ptr() or id(tensor)
        number, _ = self.storages.setdefault(address, (str(len(self.storages)), storage))
        kind = _named("torch", STORAGE_OF[tensor.dtype])
        identity = ("storage", kind, number, "cpu", storage.nbytes() // tensor.itemsize)
        return (_named("torch._utils", "_rebuild_tensor_v2"),
                (_Storage(identity), tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), requires_grad,
                 OrderedDict()))


_globals = {}


def _named(module, name):
    return _globals.setdefault((module, name), _Global(module, name))


def _save_dtype(pickler, dtype):
    pickler.save_named(_named("torch", DTYPE_NAMES[dtype]))


_Pickler.dispatch[_C.dtype] = _save_dtype


def _write(obj, file):
    data = io.BytesIO()
    pickler = _Pickler(data)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for number, storage in pickler.storages.values():
            archive.writestr(f"archive/data/{number}", bytes(memoryview(storage)))
        archive.writestr("archive/version", "3\n")


def save_archive(obj, f):
    """Writes to a path, under another name first, or to an open file."""
    if not isinstance(f, str):
        _write(obj, f)
        return
    if os.path.isdir(f):
        raise RuntimeError(f"save(): can't write {f}: it is a directory")
    if os.path.exists(f) and not os.path.isfile(f):
        _write_in_place(obj, f)
        return
    f = os.path.realpath(f)  # what a link leads to is replaced, and the link stays
    folder = os.path.dirname(f)
    try:
        handle, other = tempfile.mkstemp(dir=folder, prefix=os.path.basename(f) + ".")
    except OSError as error:
        raise RuntimeError(f"save(): can't write {f}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            _write(obj, file)
        os.chmod(other, 0o666 & ~_umask())
        os.replace(other, f)
    except BaseException:
        os.unlink(other)
        raise


def _write_in_place(obj, f):
    """Writes to a device or a pipe, which a rename would replace by a file."""
    data = io.BytesIO()  # an archive is written with seeks
    _write(obj, data)
    try:
        with open(f, "wb") as file:
            file.write(data.getvalue())
    except OSError as error:
        raise RuntimeError(f"save(): can't write {f}: {error.strerror}") from None


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
