"""save and load: tensors, and nests of them, in files that other programs read."""

import errno
import os

from shunt import _C
from shunt.serialization._allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from shunt.serialization._placement import placement
from shunt.serialization._reader import UnpicklingError, load_archive
from shunt.serialization._writer import save_archive

__all__ = ["UnpicklingError", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals",
           "save"]

_BY_NAME = (".safetensors", ".npz")


def _path_of(f):
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else None


def save(obj, f, *, metadata=None):
    """Writes tensors to a file.

    Args:
        obj: what is saved. For names that end in .safetensors or .npz a dictionary of tensors by str; else any nest of
            dict, list, tuple, set, str, numbers, None, dtypes, Sizes, devices and tensors, such as a state_dict or a
            dictionary of several. Objects of other classes, such as modules, are written as pickle writes them; load()
            refuses them by default.
        f: a path, or a binary file that is open for writing. All names but those two, and open files, become archives
            that torch.load reads. Where a path is a link, the file it leads to is replaced; an archive is also written
            to a device or a pipe.
        metadata: texts by str, in .safetensors only.
    Raises TypeError for what can't be saved (in archives one that is a pickle.PicklingError, too), and RuntimeError
    where the file can't be written; an existing file is as it was then.
    """
    path = _path_of(f)
    if path is not None and path.endswith(_BY_NAME):
        if not isinstance(obj, dict):
            raise TypeError(f"save(): a {os.path.splitext(path)[1]} file holds a dict of tensors by name, not "
                            f"{type(obj).__name__}")
        _C._save_file(dict(obj), path, metadata or {})
        return
    if metadata:
        raise ValueError("save(): only .safetensors files have a place for metadata")
    if path is None and not hasattr(f, "write"):
        raise AttributeError(f"save(): expected f to be a path, or a file that is open for writing, got "
                             f"{type(f).__name__}")
    save_archive(obj, f if path is None else path)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None):
    """Reads a file that save(), safetensors, NumPy (.npz) or torch.save has written. Tensors are on the CPU.

    Args:
        f: a path, or a binary file that is open for reading.
        map_location: None or the CPU; "meta" for tensors without elements; a dictionary of devices by those that the
            file names, for which the same holds; or a function of an UntypedStorage and the name of its device in the
            file, which returns the storage to use, or None for the one that it got. Functions are called for archives
            alone: .safetensors and .npz files name no devices.
        pickle_module: None.
        weights_only: whether classes and functions that the file names are refused, except those that
            add_safe_globals() was given. With False they are imported and run, so that a file can do whatever it likes:
            only for files that you trust.
    Raises FileNotFoundError, UnpicklingError for what isn't allowed in a file, and RuntimeError for a damaged one.
    """
    place = placement(map_location)
    if pickle_module is not None:
        raise NotImplementedError("load(): files are read by one unpickler; pickle_module has to be None")
    path = _path_of(f)
    if path is not None and path.endswith(_BY_NAME):
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, "load(): there is no such file", path)
        tensors = _C._load_file(path)
        return {name: t.to("meta") for name, t in tensors.items()} if place("cpu") == "meta" else tensors
    if path is None and not hasattr(f, "read"):
        raise AttributeError(f"load(): expected f to be a path, or a file that is open for reading, got "
                             f"{type(f).__name__}")
    return load_archive(f if path is None else path, place, trusted=weights_only is False)


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
