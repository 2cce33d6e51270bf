"""custom_op, and kernels that are made of a program's functions."""

import functools
import inspect

from shunt import _C
from shunt._infer_schema import infer_schema


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a function; as a decorator, returns the CustomOpDef, which is called as the function was.

    Args:
        name: "namespace::name".
        mutates_args: names of the arguments that it writes; "unknown" for all tensors.
        device_types: those that the function is the kernel for; None for all.
        schema: "(Tensor x) -> Tensor"; from the function's annotations by default.
        tags: of shunt.Tag, one or several, for OpOverload.tags.
    """

    def make(function):
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        result = CustomOpDef(name, text, function)
        if schema is not None:
            declared = {a.name for a in result._opoverload._schema.arguments if a.is_write}
            if mutates_args != "unknown" and set(mutates_args) != declared:
                result._lib._destroy()
                raise ValueError(
                    f"custom_op(): expected mutates_args to name what the schema says is written, {sorted(declared)}, "
                    f"got {mutates_args}, for {schema}"
                )
        if tags:
            from shunt._tags import give
            give(name, tags)
        result.register_kernel(device_types)(function)
        return result

    return make if fn is None else make(fn)


_CUSTOM_OPS = {}


class CustomOpDef:
    """An operator that was made by custom_op(): it is called with the operator's arguments, and takes registrations."""

    def __init__(self, name, schema, fn):
        from shunt.library import Library, _split
        self._namespace, self._name = _split(name)
        self._qualname, self._schema, self._init_fn = name, schema, fn
        self._backward_fn = self._setup_context_fn = self._autocast = None
        self._kernels, self._callers = {}, {}
        self._disabled = set()
        old = _CUSTOM_OPS.get(name)
        if old is not None:
            old._lib._destroy()
        self._lib = Library(self._namespace, "FRAGMENT")
        self._lib.define(self._name + schema)
        self._opoverload = _C._get_operator(name, "")
        self._writes = [a.name for a in self._opoverload._schema.arguments if a.is_write]
        self._lib.impl(self._name, self._autograd_kernel, "Autograd", with_keyset=True)
        if self._writes:
            self._lib.impl(self._name, self._write_kernel, "ADInplaceOrView", with_keyset=True)
        self._fake = None
        self._lib.impl(self._name, self._fake_kernel, "Meta")
        functools.update_wrapper(self, fn)
        _CUSTOM_OPS[name] = self

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Registers a kernel for device types; as a function or decorator."""

        def register(function):
            from shunt.library import _keys_of
            for key in _keys_of(device_types):
                self._register_for(key, function)
            return function

        return register if fn is None else register(fn)

    def _register_for(self, key, function):
        if key not in self._callers:
            self._callers[key] = self._calls(key)
            self._lib.impl(self._name, self._callers[key], key)
        self._kernels[key] = function
        self._callers[key].__wrapped__ = function  # whom messages name

    def _calls(self, key):
        arguments = self._opoverload._schema.arguments
        returned = len(self._opoverload._schema.returns)

        def kernel(*args, **kwargs):
            function = self._kernels[key]
            result = function(*args, **kwargs)
            if returned:
                _check_no_alias(self._qualname, function, arguments, args, kwargs, result)
            return result

        return kernel

    def register_fake(self, fn, /):
        """Registers what the operator does to tensors without elements."""
        self._fake = fn
        return fn

    def _fake_kernel(self, *args, **kwargs):
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        if self._opoverload._schema.returns:
            raise RuntimeError(
                f"no fake impl registered for {self}: what it returns for tensors without elements, on meta or "
                f"fake, is unknown until {self._init_fn.__name__}.register_fake says it"
            )
        return None

    def register_autograd(self, backward, /, *, setup_context=None):
        """Registers the gradient; see library.register_autograd()."""
        if any(a.is_write for a in self._opoverload._schema.arguments):
            raise RuntimeError(_written_arguments(self._opoverload))
        _check_setup_context(self._opoverload, setup_context)
        self._backward_fn, self._setup_context_fn = backward, setup_context

    def register_autocast(self, device_type, cast_inputs, /):
        """Lets autocast cast the operator's floating-point tensors."""
        self._lib.impl(self._name, make_autocast_kernel(self._opoverload, device_type, cast_inputs),
                       "Autocast" + _C._dispatch_key_for_device(device_type), with_keyset=True)

    def register_vmap(self, func=None, /):
        """Registers a batching rule; see library.register_vmap()."""
        from shunt.library import register_vmap
        return register_vmap(self, func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        from shunt.library import register_torch_dispatch
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def set_kernel_enabled(self, device_type, enabled=True):
        """A context manager: whether the kernel for a device type is used in the block."""
        return _KernelEnabled(self, _C._dispatch_key_for_device(device_type), enabled)

    def _autograd_kernel(self, keys, *args, **kwargs):
        return _run_autograd(self._opoverload, self._backward_fn, self._setup_context_fn, keys, args, kwargs)

    def _write_kernel(self, keys, *args, **kwargs):
        """The function may write memory by other means than operators: graphs that saved it must hear of it."""
        result = self._opoverload.redispatch(keys - _C.DispatchKeySet("ADInplaceOrView"), *args, **kwargs)
        named = {a.name: value for a, value in zip(self._opoverload._schema.arguments, args)}
        named.update(kwargs)
        for tensor in _tensors_in([named.get(name) for name in self._writes]):
            if not tensor.is_inference():
                _C._increment_version(tensor)
        return result


class _KernelEnabled:

    def __init__(self, op, key, enabled):
        self._op, self._key, self._enabled = op, key, enabled

    def __enter__(self):
        kernels = self._op._kernels
        self._before = kernels.get(self._key)
        if not self._enabled and self._before is not None and "CompositeExplicitAutograd" in kernels:
            kernels[self._key] = kernels["CompositeExplicitAutograd"]

    def __exit__(self, *error):
        if self._before is not None:
            self._op._kernels[self._key] = self._before


def _tensors_in(values):
    from shunt import Tensor
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _tensors_in(v)


def _check_no_alias(op, function, arguments, args, kwargs, result):
    results = {_memory_of(t): t for t in _tensors_in([result])}
    for argument, value in [*zip(arguments, args), *[(a, kwargs[a.name]) for a in arguments if a.name in kwargs]]:
        for t in _tensors_in([value]):
            found = results.get(_memory_of(t))
            if found is not None:
                what = f"its argument '{argument.name}'" if found is t else f"a view of its argument '{argument.name}'"
                raise RuntimeError(
                    f"{op}: {getattr(function, '__qualname__', function)}() returns {what}, but what a custom operator "
                    "returns must not also be an input, nor share its memory; return a clone()"
                )


def _memory_of(tensor):
    """The address of a tensor's memory; the object's where it has none, as wrappers do, or no bytes."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except (NotImplementedError, RuntimeError):
        return id(tensor)


# ---- gradients --------------------------------------------------------------------------------------------------


def _check_setup_context(op, setup_context):
    if setup_context is None:
        return
    keyword_only = any(a.kwarg_only for a in op._schema.arguments)
    names = list(inspect.signature(setup_context).parameters)
    if not keyword_only and len(names) != 3:
        raise RuntimeError(f"Expected setup_context for {op} to take (ctx, inputs, output), got {names}")


def _call_below(op, keys, args, kwargs):
    with _C._AutoDispatchBelowAutograd():
        return op.redispatch(_mask(keys), *args, **kwargs)


def _mask(keys):
    autograd = _C.DispatchKeySet("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView")
    return keys - autograd


def _requires_grad(args, kwargs):
    return _C.is_grad_enabled() and any(t.requires_grad for t in _tensors_in([*args, *kwargs.values()]))


def _run_autograd(op, backward, setup_context, keys, args, kwargs):
    if not _requires_grad(args, kwargs):
        return _call_below(op, keys, args, kwargs)
    return _node_class(op, backward, setup_context)._call(keys, args, kwargs)


_node_classes = {}


def _node_class(op, gradient, setup):
    """The autograd.Function that calls the operator, and its gradient."""
    found = _node_classes.get(op)
    if found is not None and found._made_of == (gradient, setup):
        return found
    from shunt.autograd import Function
    has_keywords = any(a.kwarg_only for a in op._schema.arguments)
    num_positional = sum(not a.kwarg_only for a in op._schema.arguments)

    class Members:

        @staticmethod
        def forward(ctx, call, *flat):
            keys, args, kwargs, packed = call
            args = _unflatten(args, flat)
            result = _call_below(op, keys, args, kwargs)
            ctx._packed, ctx._num = packed, len(flat)
            if setup is not None:
                all_args = _with_defaults(op, args, num_positional)
                if has_keywords:
                    setup(ctx=ctx, inputs=all_args, keyword_only_inputs=_all_keywords(op, kwargs), output=result)
                else:
                    setup(ctx=ctx, inputs=all_args, output=result)
            if isinstance(result, list):
                return tuple(result)
            return result

        @staticmethod
        def backward(ctx, *grads):
            if gradient is None:
                raise RuntimeError(
                    f"{op}: no autograd formula was registered, so it has no backward; register_autograd gives it one"
                )
            result = gradient(ctx, *grads)
            if not isinstance(result, tuple):
                result = (result,)
            return (None, *_spread(ctx, result))

        @staticmethod
        def _call(keys, args, kwargs):
            flat, shape = _flatten(args)
            result = Node.apply((keys, shape, kwargs, shape), *flat)
            if op._schema.returns and op._schema.returns[0].type.is_list and isinstance(result, tuple):
                return list(result)
            return result

    name = "GeneratedBackwardFor_" + op.name().replace("::", "_").replace(".", "_")
    members = {key: value for key, value in vars(Members).items() if not key.startswith("__")}
    name += "" if op._overloadname != "default" else "_default"
    Node = type(Function)(name, (Function,), {**members, "_made_of": (gradient, setup)})
    _node_classes[op] = Node
    return Node


def _flatten(args):
    """Arguments without lists: autograd sees tensors only where they stand by themselves."""
    flat, shape = [], []
    for a in args:
        if isinstance(a, (list, tuple)):
            shape.append(len(a))
            flat.extend(a)
        else:
            shape.append(None)
            flat.append(a)
    return flat, shape


def _unflatten(shape, flat):
    out, i = [], 0
    for n in shape:
        if n is None:
            out.append(flat[i])
            i += 1
        else:
            out.append(list(flat[i:i + n]))
            i += n
    return out


def _spread(ctx, grads):
    out = []
    for n, g in zip(ctx._packed, grads):
        if n is None:
            out.append(g)
        else:
            out.extend([None] * n if g is None else g)
    return out + [None] * (ctx._num - len(out))


def _with_defaults(op, args, num_positional):
    declared = op._schema.arguments[len(args):num_positional]
    return (*args, *[a.default_value for a in declared])


def _all_keywords(op, kwargs):
    return {a.name: kwargs.get(a.name, a.default_value) for a in op._schema.arguments if a.kwarg_only}


def _written_arguments(op):
    """Why an operator that writes to its arguments gets no gradient."""
    return f"{op}: a gradient expects a schema that writes to no argument, got the non-functional {op._schema}"


def make_autograd_kernel(op, backward, setup_context):
    """A kernel for Autograd that records the operator with this gradient."""
    if any(a.is_write for a in op._schema.arguments):
        raise RuntimeError(_written_arguments(op))
    _check_setup_context(op, setup_context)
    return lambda keys, *args, **kwargs: _run_autograd(op, backward, setup_context, keys, args, kwargs)


def make_autocast_kernel(op, device_type, cast_inputs):
    """A kernel for Autocast that calls the operator with its floating-point tensors cast."""
    key = "Autocast" + _C._dispatch_key_for_device(device_type)
    from shunt.utils._pytree import tree_map_only

    def cast(t):
        from shunt import float64
        eligible = t.is_floating_point() and t.device.type == device_type and t.dtype is not float64
        return t.to(cast_inputs) if eligible else t

    def kernel(keys, *args, **kwargs):
        from shunt import Tensor
        with _C._ExcludeDispatchKeyGuard(_C.DispatchKeySet(key)):
            return op(*tree_map_only(Tensor, cast, args), **tree_map_only(Tensor, cast, kwargs))

    return kernel


# ---- registrations for one class of tensors or modes ------------------------------------------------------------

_special = {}


def special_dispatch(name, cls, function):
    """Lets `function` answer for one operator in the place of the class's __torch_dispatch__."""
    if (name, cls) in _special:
        raise RuntimeError(f"{name} has a registration for {cls} already")
    _special[name, cls] = function
    if "_handles_special" in cls.__dict__:
        return
    original = cls.__torch_dispatch__
    is_classmethod = isinstance(inspect.getattr_static(cls, "__torch_dispatch__"), classmethod)

    def dispatch(self, func, types, args=(), kwargs=None):
        found = _special.get((func.name(), cls))
        if found is not None:
            return found(self, func, types, args, kwargs or {})
        return original(func, types, args, kwargs) if is_classmethod else original(self, func, types, args, kwargs)

    cls.__torch_dispatch__ = classmethod(dispatch) if is_classmethod else dispatch
    cls._handles_special = True


# ---- opcheck ----------------------------------------------------------------------------------------------------


def _check_schema(op, args, kwargs):
    """Arguments are written exactly where the schema says so."""
    schema = op._schema
    before, given = [], []
    for i, a in enumerate(schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(a.name)
        for t in _tensors_in([value]):
            given.append((a, t))
            before.append(t.detach().clone())
    op(*args, **kwargs)
    for (a, t), old in zip(given, before):
        changed = not bool(((t == old) | ((t != t) & (old != old))).all())
        if changed and not a.is_write:
            raise RuntimeError(
                f"{op}: expected argument {a.name} to keep its values, as the schema doesn't mark it as written, but "
                "the kernel changed them"
            )


def _check_fake(op, args, kwargs):
    """The fake kernel makes what the kernel makes: dtypes, sizes and devices."""
    from shunt import Tensor
    from shunt._subclasses.fake_tensor import FakeTensorMode
    from shunt.utils._pytree import tree_map_only
    real = list(_tensors_in([op(*args, **kwargs)]))
    mode = FakeTensorMode()
    with mode:
        fake = list(_tensors_in([op(*tree_map_only(Tensor, mode.from_tensor, args),
                                    **tree_map_only(Tensor, mode.from_tensor, kwargs))]))
    if len(real) != len(fake):
        raise RuntimeError(f"{op}: the fake kernel returns {len(fake)} tensors, the kernel {len(real)}")
    for i, (r, f) in enumerate(zip(real, fake)):
        for what in ("dtype", "shape", "device"):
            if getattr(r, what) != getattr(f, what):
                raise RuntimeError(f"{op}: result {i + 1} of the fake kernel has {what} {getattr(f, what)}, the "
                                   f"kernel's has {getattr(r, what)}")


def _check_autograd(op, args, kwargs):
    """Where an argument requires grad, the gradient is registered and can be computed."""
    if not any(t.requires_grad for t in _tensors_in([*args, *kwargs.values()])):
        return
    results = [t for t in _tensors_in([op(*args, **kwargs)]) if t.is_floating_point()]
    total = sum(t.sum() for t in results if t.requires_grad)
    if not hasattr(total, "backward"):
        raise RuntimeError(f"{op}: no result requires grad though an argument does; register_autograd() records it")
    from shunt.autograd import grad
    grad(total, [t for t in _tensors_in([*args, *kwargs.values()]) if t.requires_grad], allow_unused=True)


_TESTS = {"test_schema": _check_schema, "test_autograd_registration": _check_autograd, "test_faketensor": _check_fake}


class OpCheckError(Exception):
    """What opcheck() found."""


def opcheck(op, args, kwargs, test_utils, raise_exception):
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, _C.OpOverloadPacket):
        raise ValueError(f"opcheck(): expected op to be an overload, such as {op}.default, got {type(op).__name__}")
    chosen = list(_TESTS) if test_utils is None else [test_utils] if isinstance(test_utils, str) else list(test_utils)
    results = {}
    for name in chosen:
        if name not in _TESTS:
            if name == "test_aot_dispatch_dynamic":
                continue
            raise ValueError(f"opcheck(op, ..., test_utils): {name!r} is no test; there are {list(_TESTS)}")
        try:
            _TESTS[name](op, args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(): {name} of {op}: {error}") from error
            results[name] = error
    return results
