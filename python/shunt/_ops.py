"""shunt.ops: the dispatcher's operators by namespace and name.

    shunt.ops.aten.add.Tensor(x, y)      # an OpOverload
    shunt.ops.aten.add(x, 1)             # an OpOverloadPacket: the first overload that takes the arguments
    shunt.ops.mylib.custom(x)            # of shunt.library, or of C++
"""

from shunt import _C
from shunt._C import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]


class _OpNamespace:
    """Operators of one namespace."""

    def __init__(self, name):
        self.name = name
        self.__name__ = f"shunt.ops.{name}"

    def __getattr__(self, op_name):
        if op_name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' object has no attribute '{op_name}'")
        packet = _C._get_packet(f"{self.name}::{op_name}")
        if packet is None:
            raise self._no_operator(op_name)
        setattr(self, op_name, packet)
        return packet

    def _no_operator(self, op_name):
        """The AttributeError for an operator that isn't there, or for a namespace without any."""
        from shunt._near_names import did_you_mean, no_attribute
        if names := self._names():
            return no_attribute(f"'_OpNamespace' '{self.name}' object", op_name, names)
        return AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}': no operator is in this "
                              f"namespace{did_you_mean(self.name, dir(ops))}")

    def __reduce__(self):
        return getattr, (ops, self.name)

    def _names(self):
        prefix = self.name + "::"
        return sorted({full[len(prefix):].split(".")[0] for full in _C._dispatch_get_all_op_names()
                       if full.startswith(prefix)})

    def __dir__(self):
        return self._names()

    def __iter__(self):
        return iter(self._names())


class _Ops:
    """Operators by namespace."""

    def __init__(self):
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"'_Ops' object has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def __reduce__(self):
        return "ops"  # the one object, of this module

    def __dir__(self):
        return sorted({full.split("::")[0] for full in _C._dispatch_get_all_op_names()})

    def load_library(self, path):
        """Loads a shared library, whose registration blocks then are in force."""
        import ctypes
        import os
        path = os.path.abspath(path)
        ctypes.CDLL(path)
        _C._forget_schemas()
        self.loaded_libraries.add(path)

    def _forget(self, qualified):
        """An operator has lost its definition: its packet is looked up again."""
        namespace, name = qualified.split("::")
        space = self.__dict__.get(namespace)
        if space is not None:
            space.__dict__.pop(name.split(".")[0], None)


ops = _Ops()
