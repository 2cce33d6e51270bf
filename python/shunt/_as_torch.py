"""Answers `import torch` with Shunt, in this process only, and notes what programs ask for that Shunt lacks."""

import importlib
import sys
import types

#: What was asked for and isn't there: dotted names, in order, each once.
missing = {}

# The PyTorch whose names and semantics Shunt has.
_TORCH_VERSION = "2.13.0"


def _note(name):
    if not name.rpartition(".")[2].startswith("__"):
        missing.setdefault(name)


class _Module(types.ModuleType):
    """A module of Shunt's under its name of PyTorch's, which notes the names that it is asked for in vain."""

    def __init__(self, name, shunts):
        super().__init__(name, shunts.__doc__)
        object.__setattr__(self, "_shunts", shunts)
        # Python's imports and inspect look at these without asking __getattr__.
        self.__dict__["__path__"] = []

    def __getattr__(self, name):
        try:
            value = getattr(self._shunts, name)
        except AttributeError:
            try:
                return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError:
                pass
            if not name.startswith("__"):
                _note(f"{self.__name__}.{name}")
            raise AttributeError(f"module '{self.__name__}', which is Shunt's {self._shunts.__name__}, has no "
                                 f"attribute '{name}'") from None
        # Objects that are modules by their class only, such as shunt.ops, are what they are.
        if (isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value
                and value.__name__.startswith("shunt.")):
            return importlib.import_module("torch" + value.__name__[len("shunt"):])
        return value

    def __setattr__(self, name, value):
        if isinstance(value, types.ModuleType) or name.startswith("__"):
            super().__setattr__(name, value)  # what importing does
        else:
            setattr(self._shunts, name, value)

    def __dir__(self):
        return dir(self._shunts)


class _Finder:
    """A finder and loader of modules, as importlib.abc has them; importing that costs as much as the package does."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "torch":
            return None
        try:
            importlib.import_module("shunt" + name[len("torch"):])
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "shunt":
                raise
            _note(name)
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        shunts = sys.modules["shunt" + spec.name[len("torch"):]]
        module = _Module(spec.name, shunts)
        if spec.name == "torch":
            module.__dict__["__version__"] = _TORCH_VERSION
        # `from torch.nn import *`
        if hasattr(shunts, "__all__"):
            module.__dict__["__all__"] = shunts.__all__
        return module

    def exec_module(self, module):
        pass


_finder = _Finder()


def as_torch():
    """From now on `import torch`, and torch's modules by name, are Shunt's, in this process.

    RuntimeError where PyTorch itself has been imported already. shunt.as_torch.missing has the names that were asked
    for in vain.
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, _Module):
        raise RuntimeError("as_torch(): PyTorch itself has been imported by this process already")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


as_torch.missing = missing
