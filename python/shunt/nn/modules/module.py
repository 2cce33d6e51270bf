"""Module: a tree of parameters, buffers and further modules, with a forward function."""

from shunt import _C
from shunt._calls import checked_constructor
from shunt._tensor import Tensor
from shunt.nn.modules._hooks import HookTable, call_with_hooks
from shunt.nn.modules._state import StateMixin
from shunt.nn.parameter import Parameter

_TABLES = ("_parameters", "_buffers", "_modules")


def _indented(text, width=2):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * width + line for line in rest)])


def _no_attribute(module, name, known):
    from shunt._near_names import did_you_mean
    return AttributeError(f"{type(module).__name__} has no attribute `{name}`{did_you_mean(name, known)}")


@checked_constructor
class Module(StateMixin):
    """Base of all networks: attributes that are Parameters, Modules or registered buffers belong to it.

    A derived class calls super().__init__() first, assigns its parts, and defines forward().
    """

    dump_patches = False
    _version = 1
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if args or kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes no arguments where Module.__init__ is called, got "
                f"{len(args) + len(kwargs)}"
            )
        for name in (*_TABLES,):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_non_persistent_buffers_set", set())
        object.__setattr__(self, "_hooks", None)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._look_up_in_tables(cls)

    def forward(self, *args):
        raise NotImplementedError(f"{type(self).__name__} has no forward(); a class derived from Module defines one")

    def __call__(self, *args, **kwargs):
        # _hooks is None for nearly all modules.
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    # Attributes.

    def __setattr__(self, name, value):
        tables = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" in tables:
                self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in tables:
                raise AttributeError(
                    f"{type(self).__name__}: call Module.__init__() before giving it the module {name!r}"
                )
            self._forget(name, "_modules")
            tables["_modules"][name] = value
        elif isinstance(value, Tensor) and getattr(value, "_is_buffer", False):
            if "_buffers" in tables:
                self._forget(name, "_buffers")
            self.register_buffer(name, value, getattr(value, "persistent", True))
        elif name in tables.get("_parameters", ()):
            if value is not None:
                raise self._refusal("parameter", name, "a Parameter", value)
            tables["_parameters"][name] = None
        elif name in tables.get("_modules", ()):
            if value is not None:
                raise self._refusal("module", name, "a Module", value)
            tables["_modules"][name] = None
        elif name in tables.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise self._refusal("buffer", name, "a Tensor", value)
            tables["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        # For super().__getattr__(name): Python itself finds parameters by _look_up_in_tables(), below.
        tables = self.__dict__
        for table in _TABLES:
            if table in tables and name in tables[table]:
                return tables[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__}
        for table in _TABLES:
            names.update(self.__dict__[table])
        return sorted(name for name in names if not name[0].isdigit())

    def _forget(self, name, kept):
        """Takes the name out of the attributes and every table but the one that it comes into, where it keeps its
        place."""
        self.__dict__.pop(name, None)
        for table in _TABLES:
            if table != kept:
                self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _refusal(self, kind, name, expected, value):
        owner, given = type(self).__name__, _type_name(value)
        return TypeError(f"{owner}: expected {expected} or None as the {kind} {name!r}, got {given}")

    def _check_name(self, name, kind, table):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: call Module.__init__() before giving it the {kind} {name!r}")
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}: expected the name of a {kind} to be a str, got {_type_name(name)}")
        if "." in name:
            raise KeyError(f"{type(self).__name__}: expected the name of a {kind} without a dot, got {name!r}")
        if name == "":
            raise KeyError(f"{type(self).__name__}: expected the name of a {kind} with a letter or more, got ''")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Adds a parameter, or None, under a name."""
        self._check_name(name, "parameter", "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise self._refusal("parameter", name, "a Parameter", param)
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"{type(self).__name__}: expected a leaf as the parameter {name!r}, got one computed from other "
                "tensors; compute it in forward()"
            )
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state, but no parameter; `persistent`: part of the state_dict."""
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise self._refusal("buffer", name, "a Tensor", tensor)
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Adds a module, or None, under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}.add_module(): expected a Module or None as {name!r}, got {_type_name(module)}"
            )
        self._check_name(name, "module", "_modules")
        self._modules[name] = module

    register_module = add_module

    def get_submodule(self, target):
        """The module at a dotted path. AttributeError where there is none."""
        module = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise _no_attribute(module, part, module._modules)
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(
                    f"{type(self).__name__}: expected {part!r} to be a Module, got {_type_name(module)}"
                )
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a dotted path, whose other modules have to be there (AttributeError).

        strict: whether the last name has to be there, too.
        """
        if not target:
            raise ValueError("set_submodule(): target: expected the name of a module, got ''")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule(): module: expected a Module, got {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)  # refuses what isn't there, or is no module
        setattr(parent, name, module)

    def _get_leaf(self, target, table, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in getattr(module, table):
            if hasattr(module, name):
                raise AttributeError(f"`{name}` is not an nn.{kind}")
            raise _no_attribute(module, name, getattr(module, table))
        return getattr(module, table)[name]

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        return self._get_leaf(target, "_parameters", "Parameter")

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        return self._get_leaf(target, "_buffers", "Buffer")

    # The tree.

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Pairs of path and module: this one first, then those below."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all below, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self):
        """Pairs of name and module, one level down."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules one level down."""
        return (module for _, module in self.named_children())

    def _named_members(self, members, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of path and parameter, each parameter once."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """All parameters, each once: what an optimiser takes."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of path and buffer."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All buffers, each once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def apply(self, fn):
        """Calls fn on every module below, then on this one; returns this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Settings.

    def train(self, mode=True):
        """Sets `training` here and below: dropout and batch norm act by it."""
        if not isinstance(mode, bool):
            raise ValueError(f"{type(self).__name__}.train(): expected mode to be a bool, got {type(mode).__name__}")
        object.__setattr__(self, "training", mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """train(False)"""
        return self.train(False)

    def share_memory(self):
        """Moves parameters and buffers to memory that is shared with other processes: Tensor.share_memory_()."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Removes the parameters' grads, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    # Conversions.

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            changed = fn(parameter.data)
            if changed.device == parameter.device and changed.dtype == parameter.dtype:
                parameter.data = changed
            else:
                replacement = Parameter(changed, parameter.requires_grad)
                if parameter.grad is not None:
                    replacement.grad = fn(parameter.grad.data)
                # Optimisers that hold the parameter see the change where its elements can be exchanged.
                try:
                    parameter.data, parameter.grad = changed, replacement.grad
                except RuntimeError:
                    self._parameters[name] = replacement
                continue
            if parameter.grad is not None:
                parameter.grad = fn(parameter.grad.data)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Converts parameters and buffers: to(device), to(dtype), to(tensor), to(device, dtype). dtypes change only
        those of floating point."""
        from shunt import device as device_type
        from shunt import dtype as dtype_type

        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("memory_format", None)
        for argument in args:
            if isinstance(argument, dtype_type):
                dtype = argument
            elif isinstance(argument, Tensor):
                device, dtype = argument.device, argument.dtype
            elif isinstance(argument, (str, int, device_type)) and not isinstance(argument, bool):
                device = argument
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"{type(self).__name__}.to(): expected a floating-point dtype, got {dtype}")

        def convert(tensor):
            wanted = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
            return tensor.to(device=tensor.device if device is None else device, dtype=wanted)

        return self._apply(convert)

    def _cast(self, name):
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self):
        """Parameters and buffers of floating point as float32."""
        return self._cast("float")

    def double(self):
        """Parameters and buffers of floating point as float64."""
        return self._cast("double")

    def half(self):
        """Parameters and buffers of floating point as float16."""
        return self._cast("half")

    def bfloat16(self):
        """Parameters and buffers of floating point as bfloat16."""
        return self._cast("bfloat16")

    def cpu(self):
        """Parameters and buffers on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Parameters and buffers on a CUDA device. An error where there is none."""
        return self._apply(lambda t: t.cuda() if device is None else t.to(device))

    def type(self, dst_type):
        """All parameters and buffers as that dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def to_empty(self, *, device, recurse=True):
        """Parameters and buffers on another device, without their values."""
        from shunt import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def compile(self, *args, **kwargs):
        """Compiles this module's forward function, in place."""
        from shunt import compile

        object.__setattr__(self, "forward", compile(self.forward, *args, **kwargs))

    # Hooks.

    def _hook_table(self):
        if self._hooks is None:
            object.__setattr__(self, "_hooks", HookTable())
        return self._hooks

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) before forward may return other arguments. Returns a handle with remove()."""
        return self._hook_table().add("forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) after forward may return another output."""
        return self._hook_table().add("forward", hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) before the module's backward may return other gradients."""
        return self._hook_table().add("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) after the module's backward may return other grad_input."""
        return self._hook_table().add("backward", hook, prepend)

    register_backward_hook = register_full_backward_hook

    # Text.

    def extra_repr(self):
        """What stands between the parentheses besides the modules."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("_hooks", None)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def _replicate_for_data_parallel(self):
        raise NotImplementedError("Shunt has no data parallelism over devices")


_C._look_up_in_tables(Module)


def _type_name(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
