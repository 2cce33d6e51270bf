"""Answers `import torch` with Shunt in a process and its children, and notes what programs ask for that Shunt lacks."""

import importlib
import os
import sys
import types

from shunt import _C

#: What was asked for and isn't there: dotted names, in order, each once.
missing = {}

# PyTorch's modules that are parts of others here.
_ELSEWHERE = {
    "torch.nn.modules.channelshuffle": "shunt.nn.modules.images",
    "torch.nn.modules.flatten": "shunt.nn.modules.linear",
    "torch.nn.modules.fold": "shunt.nn.modules.images",
    "torch.nn.modules.pixelshuffle": "shunt.nn.modules.images",
    "torch.nn.modules.sparse": "shunt.nn.modules.embedding",
    "torch.nn.modules.upsampling": "shunt.nn.modules.images",
    **{f"torch.optim.{name}": "shunt.optim._rules"
       for name in ("adadelta", "adagrad", "adam", "adamw", "rmsprop", "sgd")},
    **{f"torch.optim.{name}": "shunt.optim._more_rules" for name in ("adamax", "asgd", "nadam", "radam", "rprop")},
}

# The PyTorch whose names and semantics Shunt has.
_TORCH_VERSION = "2.13.0"


def _note(name):
    if not name.rpartition(".")[2].startswith("__"):
        missing.setdefault(name)


def shunts_name(name):
    """The name of Shunt's module for one of PyTorch's."""
    return _ELSEWHERE.get(name) or "shunt" + name[len("torch"):]


def _answers(name, shunts, cache):
    """What a module under torch's name answers for attributes that it doesn't have itself (PEP 562)."""

    def __getattr__(attribute):
        try:
            value = getattr(shunts, attribute)
        except AttributeError:
            try:
                return importlib.import_module(f"{name}.{attribute}")
            except ModuleNotFoundError:
                pass
            if not attribute.startswith("__"):
                _note(f"{name}.{attribute}")
            from shunt._near_names import no_name
            raise no_name(name, attribute, dir(shunts), sys._getframe(1), getattr(shunts, "__file__", None),
                          f"module '{name}', answered by {shunts.__name__},") from None
        # Objects that are modules by their class only, such as shunt.ops, are what they are.
        if (isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value
                and value.__name__.startswith("shunt.")):
            return importlib.import_module("torch" + value.__name__[len("shunt"):])
        if callable(value) and vars(shunts).get(attribute) is value:
            cache[attribute] = value  # functions and classes, which nothing sets but programs, by __setattr__ below
        return value

    return __getattr__


class _Module(types.ModuleType):
    """A module of Shunt's under its name of PyTorch's, which notes the names that it is asked for in vain.

    __getattr__ stands in its dictionary and not in its class: so what is in the dictionary is found as fast as in other
    modules.
    """

    def __init__(self, name, shunts):
        super().__init__(name, shunts.__doc__)
        own = self.__dict__
        # Python's imports and inspect look at these without asking __getattr__; messages of imports show __file__.
        own.update(_shunts=shunts, __path__=[], __file__=getattr(shunts, "__file__", None), __dir__=lambda: dir(shunts),
                   __getattr__=_answers(name, shunts, own))

    def __setattr__(self, name, value):
        if isinstance(value, types.ModuleType) or name.startswith("__"):
            super().__setattr__(name, value)  # what importing does
        else:
            self.__dict__.pop(name, None)
            setattr(self._shunts, name, value)

    def __delattr__(self, name):
        known = self.__dict__.pop(name, None)
        if known is None or hasattr(self._shunts, name):
            delattr(self._shunts, name)


def _hint(name):
    """The end of a message about a module that isn't there."""
    from shunt._near_names import hint
    parent, _, last = name.rpartition(".")
    shunts = sys.modules.get(shunts_name(parent))
    return hint(parent, last, dir(shunts) if shunts is not None else ())


class _Finder:
    """A finder and loader of modules, as importlib.abc has them; importing that costs as much as the package does."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "torch":
            return None
        try:
            importlib.import_module(shunts_name(name))
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "shunt":
                raise
            _note(name)
            # importlib.util.find_spec() asks whether it is there; an import fails, and should say of what.
            if sys._getframe(1).f_back.f_code.co_name != "_find_and_load_unlocked":
                return None
            raise ModuleNotFoundError(f"No module named '{name}': `import torch` is answered by Shunt here, which "
                                      f"doesn't have it{_hint(name)}", name=name) from None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        shunts = sys.modules[shunts_name(spec.name)]
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
    if _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    _C._show_package("torch")
    # Processes that multiprocessing starts anew get sys.path, and find in this folder a torch that calls as_torch().
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "_torch_alias"))


as_torch.missing = missing
