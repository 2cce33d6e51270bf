"""save and load: tensors, and nests of them, in files that other programs read."""

import errno
import os

from shunt import _C
from shunt.serialization._reader import UnpicklingError, load_archive
from shunt.serialization._writer import save_archive

__all__ = ["UnpicklingError", "load", "save"]

_BY_NAME = (".safetensors", ".npz")


def _path_of(f):
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else None


def save(obj, f, *, metadata=None):
    """Writes tensors to a file.

    Args:
        obj: what is saved. For names that end in .safetensors or .npz a dictionary of tensors by str; else any nest of
            dict, list, tuple, set, str, numbers, None, dtypes, Sizes, devices and tensors, such as a state_dict or a
            dictionary of several.
        f: a path, or a binary file that is open for writing. All names but those two, and open files, become archives
            that torch.load reads.
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
    save_archive(obj, f if path is None else path)


def load(f, map_location=None, *, weights_only=True, mmap=None):
    """Reads a file that save(), safetensors, NumPy (.npz) or torch.save has written. Tensors are on the CPU.

    Args:
        f: a path, or a binary file that is open for reading.
        map_location: None or the CPU.
        weights_only: has to be True. Nothing that a file names is run; classes and functions of programs are refused.
    Raises FileNotFoundError, UnpicklingError for what isn't allowed in a file, and RuntimeError for a damaged one.
    """
    if not weights_only:
        raise NotImplementedError("load(): weights_only=False would run code of the file, and is not supported")
    if map_location is not None and str(map_location) != "cpu":
        raise NotImplementedError(f"load(): map_location={map_location!r} is not supported; tensors are loaded on the "
                                  "CPU")
    path = _path_of(f)
    if path is not None and path.endswith(_BY_NAME):
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, "load(): there is no such file", path)
        return _C._load_file(path)
    return load_archive(f if path is None else path)
