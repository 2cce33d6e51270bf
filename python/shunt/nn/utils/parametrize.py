"""Parametrizations: parameters and buffers that are computed from others whenever they are read."""

from contextlib import contextmanager, suppress

from shunt._tensor import Tensor
from shunt.autograd import no_grad
from shunt.nn.modules.container import ModuleDict, ModuleList
from shunt.nn.parameter import Parameter

_cache_depth = 0
_cache = {}


@contextmanager
def cached():
    """Within it a parametrized tensor is computed once, at its first use."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_unchanged(before, after, attributes):
    """ValueError where a parametrization's result isn't a tensor, or differs in these attributes from its input."""
    if not isinstance(after, Tensor):
        raise ValueError(f"expected a parametrization to return a Tensor, got {type(after).__name__}")
    for name in attributes:
        old, new = getattr(before, name), getattr(after, name)
        if new != old:
            raise ValueError(f"expected a parametrization to keep the {name}, {old}, got {new}; unsafe=True allows it")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they are applied to: `original`, or `original0`,
    `original1`, ... where the first one's right_inverse gives several tensors."""

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList(): expected at least one module, got none")
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        if not self.is_tensor and not isinstance(value, (tuple, list)):
            raise ValueError(
                f"right_inverse(): expected a Tensor or a tuple or list of them, got {type(value).__name__}"
            )
        if self.is_tensor:
            if not unsafe and value.dtype != original.dtype:
                raise ValueError(
                    f"right_inverse(): expected dtype {original.dtype}, the parameter's, got {value.dtype}"
                )
            # Optimisers that have the parameter go on with it.
            with no_grad():
                if value is not original:
                    original.data = value.data
            _register(self, "original", original)
        else:
            self.ntensors = len(value)
            for i, part in enumerate(value):
                if not isinstance(part, Tensor):
                    raise ValueError(f"right_inverse(): expected Tensors, got {type(part).__name__} at index {i}")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            found = self()
            _check_unchanged(original, found, ("dtype", "shape") if self.is_tensor else ("dtype",))

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Changes the originals so that the parametrized tensor is `value`. RuntimeError where a parametrization
        can't."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__} has no right_inverse(), which gives the original for a value"
                    )
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            for original, new in zip(self._originals(), values):
                if not isinstance(new, Tensor):
                    raise ValueError(f"right_inverse(): expected a Tensor, got {type(new).__name__}")
                if original.dtype != new.dtype:
                    raise ValueError(
                        f"right_inverse(): expected dtype {original.dtype}, the original's, got {new.dtype}"
                    )
                original.data = new.data

    def forward(self):
        first, *rest = list(self)
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _property(name):
    def get(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            # The module is kept, or another one could get its address.
            _cache[key] = self, self.parametrizations[name]()
        return _cache[key][1]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def _give_class(module):
    """Gives the module a class of its own, to which properties can be added."""
    cls = type(module)
    module.__class__ = type(
        f"Parametrized{cls.__name__}", (cls,), {"__module__": __name__, "_before": cls, "__doc__": cls.__doc__}
    )
    module.parametrizations = ModuleDict()


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a parameter or buffer of the module a function of its former value; returns the module.

    `parametrization` is a module: forward(original) gives what `module.tensor_name` reads. Where it has
    right_inverse(value),
    the tensor can be assigned to; that may give a tuple of tensors, which forward then takes.
    Args:
        unsafe: whether the shape and dtype may change, and nothing is checked.
    ValueError for a parametrization that changes them otherwise, or a name that isn't a parameter or buffer.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            found = parametrization(before)
            _check_unchanged(before, found, ("dtype", "shape"))
            if hasattr(parametrization, "right_inverse"):
                with no_grad():
                    back = parametrization.right_inverse(before)
                if not isinstance(back, Tensor) or back.shape != before.shape or back.dtype != before.dtype:
                    raise ValueError(
                        f"right_inverse(): expected a Tensor of shape {tuple(before.shape)} and dtype {before.dtype}, "
                        f"got {back}"
                    )
        chain = module.parametrizations[tensor_name]
        if hasattr(parametrization, "right_inverse"):
            value = getattr(module, tensor_name).detach()
            chain.append(parametrization)
            chain.unsafe |= unsafe
            if all(hasattr(one, "right_inverse") for one in chain):
                chain.right_inverse(value)
        else:
            chain.append(parametrization)
            chain.unsafe |= unsafe
        return module
    tensor = module._parameters.get(tensor_name)
    if tensor is None:
        tensor = module._buffers.get(tensor_name)
    if tensor is None:
        raise ValueError(
            "register_parametrization(): expected the name of a parameter, a buffer or what is parametrized in "
            f"{type(module).__name__}, got {tensor_name!r}"
        )
    chain = ParametrizationList([parametrization], tensor, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = chain
    return module


def is_parametrized(module, tensor_name=None):
    """Whether the module has a parametrization, of this tensor where one is named."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor an ordinary one again, of its present value or, without leave_parametrized, of the original's.

    ValueError where it isn't parametrized, or has several originals that it should be left as.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations(): expected {type(module).__name__} to have {tensor_name!r} parametrized, got "
            "one that hasn't"
        )
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach().clone()
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach().clone()
        parts = chain._originals()
        original = Parameter(value, any(p.requires_grad for p in parts)) if isinstance(parts[0], Parameter) else value
    else:
        raise ValueError(
            f"remove_parametrizations(): expected leave_parametrized=True for {tensor_name!r}, which has several "
            "originals, got False"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._before
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The module's class before any parametrization was registered."""
    return type(module)._before if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Registers from_module's parametrizations, of all tensors or one, on to_module, and copies what they are applied
    to."""
    import copy

    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        chain = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in chain:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        for mine, theirs in zip(to_module.parametrizations[name]._originals(), chain._originals()):
            with no_grad():
                mine.data = theirs.detach().clone()
    return to_module
