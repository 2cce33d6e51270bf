"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import operator
from collections.abc import Iterable, Mapping

from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def _place(index, length):
    """The place of an index that may count from the end. IndexError where it is out of range."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"expected an index from {-length} to {length - 1}, got {index}")
    return index % length


class _ListOfModules(Module):
    """What Sequential and ModuleList share: modules named "0", "1", ..."""

    def _set_all(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _list(self):
        return list(self._modules.values())

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __delitem__(self, index):
        modules = self._list()
        del modules[index if isinstance(index, slice) else _place(index, len(modules))]
        self._set_all(modules)

    def __setitem__(self, index, module):
        name = list(self._modules)[_place(index, len(self))]
        setattr(self, name, module)

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Adds a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"insert(): expected a Module, got {type(module).__name__}")
        length = len(self)
        if not -length <= index <= length:
            raise IndexError(f"insert(): expected an index from {-length} to {length}, got {index}")
        modules = self._list()
        modules.insert(index, module)
        self._set_all(modules)

    def pop(self, index):
        """Takes a module out, and returns it."""
        module = self[index]
        del self[index]
        return module

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_ListOfModules):
    """Modules that are called one after the other: Sequential(a, b)(x) is b(a(x)).

    Args: the modules, or one ordered dictionary of them by name.
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self._set_all(args)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._list()[_place(index, len(self))]

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: expected a Sequential to add, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        return self.extend(other)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_ListOfModules):
    """A list whose modules belong to the module that it is an attribute of."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._list()[index])
        return self._list()[_place(index, len(self))]

    def extend(self, modules):
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend(): expected an iterable of modules, got {type(modules).__name__}")
        return super().extend(modules)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])


class ModuleDict(Module):
    """A dictionary whose modules belong to the module that it is an attribute of."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out, and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Names and modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a mapping, or of pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleDict.update(): expected a mapping or pairs of name and module, got {type(modules).__name__}"
            )
        for key, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[key] = module


class ParameterList(Module):
    """A list whose parameters belong to the module that it is an attribute of; tensors become parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_place(index, len(self))))

    def __setitem__(self, index, value):
        setattr(self, str(_place(index, len(self))), _as_parameter(value))

    def append(self, value):
        """Adds a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds parameters at the end."""
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    def extra_repr(self):
        return "\n".join(f"({i}): {_described(value)}" for i, value in enumerate(self))


class ParameterDict(Module):
    """A dictionary whose parameters belong to the module that it is an attribute of; tensors become parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, self._name(key))

    def __setitem__(self, key, value):
        setattr(self, self._name(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._name(key))

    @staticmethod
    def _name(key):
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected a key of type str, got {type(key).__name__}")
        return key

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """Names and parameters."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The parameters."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds the parameters of a mapping, or of pairs."""
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value

    def extra_repr(self):
        return "\n".join(f"({key}): {_described(value)}" for key, value in self.items())


def _as_parameter(value):
    from shunt._tensor import Tensor
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(value):
    sizes = "x".join(str(size) for size in value.shape)
    return f"Parameter containing: [{value.dtype} of size {sizes}]"
