"""Reads archives that torch.save has written, without running anything that they name unless the program allowed it."""

import errno
import pickle
import sys
import zipfile
from collections import OrderedDict

from shunt import _C
from shunt._reduction import set_state, unhandled
from shunt._tensor import Tensor
from shunt.serialization import _allowed
from shunt.serialization._kinds import kind_of
from shunt.serialization._names import DTYPES, STORAGES

UnpicklingError = pickle.UnpicklingError


def _rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    data, dtype = storage
    length = data.numel() // dtype.itemsize
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if len(size) != len(stride) or offset < 0 or any(n < 0 for n in size) or any(s < 0 for s in stride):
        raise RuntimeError(f"load(): a tensor of sizes {size}, strides {stride} and offset {offset} is none")
    if 0 not in size and last >= length:
        raise RuntimeError(f"load(): a tensor of sizes {size} and strides {stride} needs {last + 1} elements of a "
                           f"storage that has {length}")
    tensor = data[:length * dtype.itemsize].view(dtype).as_strided(size, stride, offset)
    return tensor.detach().requires_grad_(bool(requires_grad))


def _rebuild_parameter(data, requires_grad, hooks=None):
    from shunt.nn import Parameter
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    return set_state(_rebuild_parameter(data, requires_grad), state)


def _rebuild_from_type(rebuild, cls, arguments, state):
    if rebuild is not _rebuild_tensor or not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise RuntimeError(f"load(): expected a tensor's class and how it is made, got {cls!r} and {rebuild!r}")
    if cls is Tensor and not isinstance(state, dict):  # beside attributes there are slots, which a plain one lacks
        raise RuntimeError(f"load(): expected a dictionary of a tensor's attributes, got {type(state).__name__}")
    tensor = rebuild(*arguments)
    if cls is not Tensor:
        requires_grad, tensor = tensor.requires_grad, _C._alias_of_class(tensor.detach(), cls)
        with unhandled():
            tensor.requires_grad_(requires_grad)
    return tensor if state is None else set_state(tensor, state)


class _StorageKind:
    """A storage's class in an archive: its dtype."""

    def __init__(self, dtype):
        self.dtype = dtype


#: What an archive may name. Everything else is refused.
_ALLOWED = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
    ("torch", "Tensor"): Tensor,
    ("torch", "Size"): _C.Size,
    ("torch", "device"): _C.device,
    ("builtins", "set"): set, ("__builtin__", "set"): set,
    ("builtins", "frozenset"): frozenset, ("__builtin__", "frozenset"): frozenset,
    ("builtins", "complex"): complex, ("__builtin__", "complex"): complex,
    ("_codecs", "encode"): lambda text, encoding: (text.encode("latin1") if encoding == "latin1"
                                                   else _refuse("_codecs.encode")),
    **{("torch", name): _StorageKind(dtype) for name, dtype in STORAGES.items()},
    **{("torch", name): dtype for name, dtype in DTYPES.items()},
}


def _refuse(name):
    raise UnpicklingError(f"load(): the file asks for {name}, and only tensors, numbers, texts and containers of them "
                          "are allowed. shunt.serialization.add_safe_globals([...]) allows classes and functions that "
                          "you trust.")


#: How deep tuples may be nested, and how many tuples one may lead to, counted each time. Python hashes tuples, as keys
#: of dictionaries, by recursion in C without looking at the stack, and shared parts as often as they are met.
_MAX_DEPTH, _MAX_NESTED = 1000, 10**7


class _Unpickler(pickle._Unpickler):
    """The unpickler that is written in Python, whose opcodes can be limited. A state, by which a file could change
    what other files get, is for ordered dictionaries alone, as a state_dict has its versions there, and for classes
    that were allowed."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def load_build(self):
        state, target = self.stack[-1], self.stack[-2]
        if _allowed.is_allowed_class(type(target)):
            super().load_build()
            return
        if type(target) is not OrderedDict or not isinstance(state, dict):
            _refuse(f"a state for an object of class {type(target).__name__}")
        self.stack.pop()
        target.__dict__.update(state)

    dispatch[pickle.BUILD[0]] = load_build

    def _limit_last_tuple(self):
        """Refuses the tuple on top of the stack if it is nested too deep."""
        made = self.stack[-1]
        parts = [self._nested[id(part)] for part in made if type(part) is tuple and id(part) in self._nested]
        depth = 1 + max((depth for _, depth, _ in parts), default=0)
        count = 1 + sum(count for _, _, count in parts)
        if depth > _MAX_DEPTH or count > _MAX_NESTED:
            raise UnpicklingError(f"load(): the file's tuples are nested too deep: {depth} levels, {count} tuples")
        self._nested[id(made)] = made, depth, count  # kept, so that no other gets its id

    def _load_tuple_by(load):  # noqa: N805 (of the class's body)
        def load_limited(self):
            load(self)
            self._limit_last_tuple()
        return load_limited

    for opcode in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
        dispatch[opcode[0]] = _load_tuple_by(dispatch[opcode[0]])
    del opcode, _load_tuple_by

    def __init__(self, file, archive, prefix, place):
        super().__init__(file)
        self._place = place
        self._nested = {}  # by id, tuples with the depth and the number of those inside
        self._archive, self._prefix, self._storages = archive, prefix, {}

    def find_class(self, module, name):
        found = _ALLOWED.get((module, name)) or _allowed.allowed(module, name)
        return _refuse(f"{module}.{name}") if found is None else found

    def persistent_load(self, identity):
        if not (isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage"
                and isinstance(identity[1], _StorageKind)):
            _refuse(f"an object by {identity!r}")
        _, kind, key, location, count = identity
        if key not in self._storages:
            self._storages[key] = self._placed(key, str(location))
        data = self._storages[key]
        if data.numel() < int(count) * kind.dtype.itemsize:
            raise RuntimeError(f"load(): storage {key} has {data.numel()} bytes, and "
                               f"{int(count) * kind.dtype.itemsize} are asked for")
        return data, kind.dtype

    def _placed(self, key, location):
        """All the bytes of a storage, where load() was asked to have them."""
        from shunt import empty
        if self._place(location) == "meta":
            return empty(self._archive.getinfo(f"{self._prefix}data/{key}").file_size, dtype=_C.uint8, device="meta")
        data = self._read(key)
        storage = data.untyped_storage()
        found = self._place.storage(storage, location)
        return data if found is storage else empty(0, dtype=_C.uint8, device=found.device).set_(found)

    def _read(self, key):
        from shunt import empty, frombuffer
        name = f"{self._prefix}data/{key}"
        # torch.save compresses nothing, so a file holds as many bytes as it makes a program take.
        if self._archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"load(): storage {key} is compressed, as torch.save writes none")
        data = bytearray(self._archive.read(name))
        return frombuffer(data, dtype=_C.uint8) if data else empty(0, dtype=_C.uint8, device="cpu")


class _TrustingUnpickler(_Unpickler):
    """For files that are trusted: imports and runs what they name."""

    dispatch = {**_Unpickler.dispatch, pickle.BUILD[0]: pickle._Unpickler.load_build}

    def find_class(self, module, name):
        found = _ALLOWED.get((module, name))
        return _allowed.imported(module, name) if found is None else found


def _first_bytes(f):
    if isinstance(f, str):
        with open(f, "rb") as file:
            return file.read(64)
    f.seek(0)
    return f.read(64)


def load_archive(f, place, trusted=False):
    """The object in the archive at a path, or in an open file. `place`: the Placement of its storages. `trusted`:
    whether what it names is imported and run."""
    name = f if isinstance(f, str) else "the file"
    try:
        archive = zipfile.ZipFile(f)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "load(): there is no such file", f) from None
    except zipfile.BadZipFile as error:
        first = _first_bytes(f)
        if isinstance(first, str):
            raise TypeError("load(): expected a file that is open for reading bytes ('rb'), got one of text") from None
        raise RuntimeError(f"load(): {name} is {kind_of(first)}") from error
    except OSError as error:
        if not isinstance(f, str):
            raise
        raise type(error)(error.errno, f"load(): {error.strerror}", f) from None
    with archive:
        places = [entry for entry in archive.namelist() if entry.endswith("data.pkl") and entry.count("/") <= 1]
        if len(places) != 1:
            raise RuntimeError(f"load(): {name} is a zip file without data.pkl, so no archive of torch.save")
        prefix = places[0][:-len("data.pkl")]
        if prefix + "constants.pkl" in archive.namelist():
            raise RuntimeError(f"load(): {name} is a TorchScript program; only state can be loaded")
        order = archive.read(prefix + "byteorder").decode() if prefix + "byteorder" in archive.namelist() else "little"
        if order != sys.byteorder:
            raise RuntimeError(f"load(): {name} was written on a {order}-endian machine")
        try:
            if archive.getinfo(places[0]).compress_type != zipfile.ZIP_STORED:
                raise RuntimeError(f"load(): {name}'s data.pkl is compressed, as torch.save writes none")
            with archive.open(places[0]) as data:
                return (_TrustingUnpickler if trusted else _Unpickler)(data, archive, prefix, place).load()
        except (UnpicklingError, RuntimeError, MemoryError):
            raise
        except Exception as error:  # what a damaged pickle may end in is not one kind
            if error is place.error:
                raise
            raise RuntimeError(f"load(): {name} is damaged: {type(error).__name__}: {error}") from error
