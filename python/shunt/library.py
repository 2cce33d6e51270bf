"""Operators and kernels of a program's own.

    shunt.library.define("mylib::twice", "(Tensor x) -> Tensor")

    @shunt.library.impl("mylib::twice", "CPU")
    def twice(x):
        return x + x

    shunt.ops.mylib.twice(x)

or, with the schema from annotations and a gradient:

    @shunt.library.custom_op("mylib::scale", mutates_args=())
    def scale(x: shunt.Tensor, by: float) -> shunt.Tensor:
        return x * by
"""

import functools
import sys
import weakref

from shunt import _C
from shunt._custom_op import CustomOpDef, custom_op
from shunt._infer_schema import infer_schema

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl",
    "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"
]


def fallthrough_kernel():
    """Given to Library.impl or Library.fallback in the place of a kernel: calls pass this key by."""
    raise NotImplementedError("fallthrough_kernel stands for a kernel in Library.impl(), expected no call of it")


def _place(depth):
    """File and line of the caller's caller, for messages that say where something was registered."""
    frame = sys._getframe(depth + 1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("shunt.", "shunt")) and \
            frame.f_globals.get("__name__") in ("shunt.library", "shunt._custom_op", "functools"):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _release(handle, names):
    _C._library_reset(handle)
    from shunt._ops import ops
    for name in names:
        ops._forget(name)


class Library:
    """Registrations in a namespace, which are in force until the object is destroyed.

    Args:
        ns: the namespace.
        kind: "DEF" for the one library that defines the namespace, "FRAGMENT" for more definitions in one, "IMPL" for
            kernels of operators that are defined elsewhere.
        dispatch_key: the key that kernels are for unless they say another one.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported library type: {kind}; expected 'DEF', 'FRAGMENT' or 'IMPL'")
        if ns in ("prim",) and kind != "FRAGMENT":
            raise ValueError(f"Library(): {ns!r} is a reserved namespace; expected another for kind {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, str(dispatch_key)
        self._handle = _C._library_new(kind, ns, _key_name(dispatch_key), *_place(1))
        self._op_defs, self._op_impls = set(), set()
        self._finalizer = weakref.finalize(self, _release, self._handle, self._op_defs)

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def _check_alive(self):
        if not self._finalizer.alive:
            raise RuntimeError(f"{self!r} was destroyed: its registrations were taken back")

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator: "name.overload(Tensor x) -> Tensor". Returns its name. `tags`: of shunt.Tag, one or
        several, for OpOverload.tags.

        A RuntimeError for schemas that are wrong and for names that are defined already.
        """
        self._check_alive()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(
                f"define(): expected alias_analysis to be '', 'FROM_SCHEMA' or 'CONSERVATIVE', got {alias_analysis!r}"
            )
        if self.kind == "IMPL":
            raise RuntimeError(f"{self!r}: define() is for libraries of the kinds DEF and FRAGMENT")
        name = _C._library_define(self._handle, schema, *_place(1))
        qualified = name if "::" in name else f"{self.ns}::{name}"
        self._op_defs.add(qualified)
        if tags or "shunt._tags" in sys.modules:  # also: the name may have had tags before
            from shunt._tags import give
            give(qualified, tags)
        from shunt._ops import ops
        ops._forget(qualified)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Registers a kernel, a function of the operator's arguments.

        Args:
            op_name: "name.overload", or an OpOverload.
            fn: the kernel, or fallthrough_kernel.
            dispatch_key: what it is for: "CPU", "CUDA", "Meta", "Autograd", "CompositeImplicitAutograd", ...; the
                library's by default.
            with_keyset: whether it gets the call's DispatchKeySet as its first argument, for OpOverload.redispatch().
        """
        self._check_alive()
        if not callable(fn):
            raise TypeError(f"Library.impl(): expected a callable, got {type(fn).__name__}")
        key = _key_name(dispatch_key) or self.dispatch_key or "CompositeImplicitAutograd"
        if isinstance(op_name, _C.OpOverload):
            name = op_name.name()
        elif isinstance(op_name, str):
            name = op_name[:-len(".default")] if op_name.endswith(".default") else op_name
        else:
            raise RuntimeError(
                f"Library.impl(): expected op_name to be a str or an OpOverload, got {type(op_name).__name__}"
            )
        bare = name.split("::")[-1]
        if "::" in name and name.split("::")[0] != self.ns:
            raise RuntimeError(f"{self!r}: impl() got {name}, which is of another namespace")
        registered = (bare, key)
        if registered in self._op_impls and not allow_override:
            raise RuntimeError(
                f"Library.impl(): there is already a kernel registered from python for {key} of {self.ns}::{bare}; "
                "allow_override=True replaces it"
            )
        _C._library_impl(self._handle, bare, key, fn, bool(with_keyset), *_place(1))
        self._op_impls.add(registered)
        return fn

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Registers what a key does for operators that have no kernel for it. Of the namespace "_" only.

        fn: func(op, *args, **kwargs), or fallthrough_kernel.
        """
        self._check_alive()
        key = _key_name(dispatch_key) or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(f"We can only register fallback using a wildcard namespace '_', got {self.ns}")
        if not key:
            raise RuntimeError("fallback(): a dispatch key is needed")
        if not callable(fn):
            raise TypeError(f"Library.fallback(): expected a callable, got {type(fn).__name__}")
        _C._library_fallback(self._handle, key, fn, bool(with_keyset), *_place(1))

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        return self.impl(op_name, fn, "Meta", allow_override=allow_override)

    def _register_vmap(self, qualname, fn):
        self._check_alive()
        if not callable(fn):
            raise TypeError(f"register_vmap(): expected a callable, got {type(fn).__name__}")
        _C._library_register_vmap(self._handle, qualname.removesuffix(".default"), fn, *_place(1))
        return fn

    def _destroy(self):
        """Takes all registrations back."""
        self._finalizer()


def _key_name(key):
    return getattr(key, "name", key)


@functools.lru_cache(None)
def _library_of(ns, owner):
    """Registrations of functions of this module stay in force while the program runs."""
    return Library(ns, "FRAGMENT")


def _split(qualname):
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"expected a name like namespace::name, got {qualname!r}")
    return parts


def define(qualname, schema, *, lib=None, tags=()):
    """Defines the operator `namespace::name` with the schema "(Tensor x) -> Tensor", until the program ends, or `lib`
    does."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(): expected qualname to be a str, got {type(qualname).__name__}")
    ns, name = _split(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(f"define(): expected a schema like '(Tensor x) -> Tensor', got {schema!r}")
    (lib or _library_of(ns, "define")).define(name + schema, tags=tags)


def _keys_of(types):
    if isinstance(types, str):
        types = (types,)
    elif not isinstance(types, (tuple, list, set)) and types is not None:
        types = (types,)
    keys = []
    for t in types if types is not None else ("default",):
        t = _key_name(t)
        if t == "default":
            keys.append("CompositeExplicitAutograd")
        elif _C._parse_dispatch_key(t) is not None:
            keys.append(t)
        else:
            keys.append(_C._dispatch_key_for_device(t))
    return keys


def impl(qualname, types, func=None, *, lib=None):
    """Registers a kernel of the operator `namespace::name`, as a function or decorator.

    Args:
        types: device types ("cpu", "cuda"), dispatch keys ("CPU", "Autograd"), several of them, or "default" for every
            backend.
    """
    if isinstance(qualname, Library):
        # The decorator's older form: impl(lib, name, dispatch_key)
        library, name, key = qualname, types, func or ""

        def register(function):
            library.impl(name, function, key)
            return function

        return register
    ns, name = _split(qualname)
    keys = _keys_of(types)

    def register(function):
        library = lib or Library(ns, "FRAGMENT")
        if lib is None:
            _kept.append(library)
        for key in keys:
            library.impl(name, function, key)
        return function

    if func is None:
        return register
    register(func)
    return None


_kept = []


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Registers the kernel of an operator for device types ("cpu", "cuda", several, or None for all)."""
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    return impl(_name_of(op), device_types if device_types is not None else "default", func, lib=lib)


def _name_of(op):
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, _C.OpOverload):
        return op.name()
    if isinstance(op, str):
        return op
    raise ValueError(f"expected the name of an operator, an OpOverload or a CustomOpDef, got {type(op)}")


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Registers what an operator does to tensors without elements (Meta, FakeTensorMode): it makes results of the right
    sizes, strides, dtype and device, such as x.new_empty(...). As a function or decorator."""
    if isinstance(op, CustomOpDef):
        return op.register_fake if func is None else op.register_fake(func)
    ns, name = _split(_name_of(op))

    def register(function):
        library = lib or Library(ns, "FRAGMENT")
        if lib is None:
            _kept.append(library)
        library._register_fake(name, function, allow_override=allow_override)
        return function

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """As register_fake(), which is its newer name."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers an operator's gradient.

    Args:
        backward: backward(ctx, *grads) -> the gradients of the arguments, None for those that have none.
        setup_context: setup_context(ctx, inputs, output), called after the operator ran, which keeps what backward
            needs: ctx.save_for_backward(...). With a keyword argument `keyword_only_inputs` where the operator has
                such.
    """
    from shunt import _custom_op
    if isinstance(op, CustomOpDef):
        return op.register_autograd(backward, setup_context=setup_context)
    name = _name_of(op)
    ns, bare = _split(name)
    base, _, overload = name.partition(".")
    overload_object = _C._get_operator(base, "" if overload == "default" else overload)
    kernel = _custom_op.make_autograd_kernel(overload_object, backward, setup_context)
    library = lib or Library(ns, "FRAGMENT")
    if lib is None:
        _kept.append(library)
    library.impl(bare, kernel, "Autograd", with_keyset=True)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Lets autocast call an operator with its floating-point tensors cast to a dtype."""
    from shunt import _custom_op
    if isinstance(op, CustomOpDef):
        return op.register_autocast(device_type, cast_inputs)
    name = _name_of(op)
    ns, bare = _split(name)
    base, _, overload = name.partition(".")
    overload_object = _C._get_operator(base, "" if overload == "default" else overload)
    library = lib or Library(ns, "FRAGMENT")
    if lib is None:
        _kept.append(library)
    library.impl(bare, _custom_op.make_autocast_kernel(overload_object, device_type, cast_inputs),
                 "Autocast" + _C._dispatch_key_for_device(device_type), with_keyset=True)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Registers what a class of tensors, or a TorchDispatchMode, does for one operator in the place of its
    __torch_dispatch__: func(cls_or_mode, func, types, args, kwargs)."""
    from shunt import _custom_op
    name = _name_of(op)

    def register(function):
        _custom_op.special_dispatch(name, torch_dispatch_class, function)
        return function

    return register if func is None else register(func)


def register_vmap(op, func=None, /, *, lib=None):
    """Registers a batching rule, by which shunt.func.vmap runs an operator once for a whole batch, as a function or
    decorator. Without one vmap calls the operator once for each sample.

        @shunt.library.register_vmap("mylib::scale")
        def _(info, in_dims, x, by):
            return shunt.ops.mylib.scale(x, by), in_dims[0]

    Args:
        op: the name of an operator, an OpOverload or a CustomOpDef.
        func: func(info, in_dims, *args, **kwargs) -> (result, out_dims), called where a tensor is batched. It gets
            whole batches, and runs outside of the vmap.

            - info: `info.batch_size`, and `info.randomness`: "error", "same" or "different".
            - in_dims: for each positional argument the dimension that is the batch, None where there is none; for a
              list a list of them. Arguments that have their defaults are left out, as in other kernels.
            - out_dims: an int or None for each tensor of the result, structured as that, or one for all.
        lib: the Library that holds the registration; until the program ends by default, or until the CustomOpDef is
            replaced.
    A RuntimeError where there is no such operator. What a rule returns is checked at each call.
    """
    name = _name_of(op)

    def register(function):
        library = lib or (op._lib if isinstance(op, CustomOpDef) else Library(_split(name)[0], "FRAGMENT"))
        library._register_vmap(name, function)
        if lib is None and not isinstance(op, CustomOpDef):
            _kept.append(library)
        return function

    return register if func is None else register(func)


def triton_op(*args, **kwargs):
    """Not available: there is no Triton for Shunt's devices."""
    raise NotImplementedError("triton_op: Shunt has no Triton; write the kernel for a device with register_kernel()")


def wrap_triton(*args, **kwargs):
    """Not available: there is no Triton for Shunt's devices."""
    raise NotImplementedError("wrap_triton: Shunt has no Triton; write the kernel for a device with register_kernel()")


def get_ctx():
    """Not available: sizes that depend on values have no form in Shunt's fake tensors."""
    raise NotImplementedError("get_ctx: fake tensors of Shunt have no sizes that depend on values")


def get_kernel(op, dispatch_key):
    """The kernel that an operator's calls with this key run, as a function of a DispatchKeySet and the arguments."""
    name = _name_of(op)
    base, _, overload = name.partition(".")
    overload_object = _C._get_operator(base, "" if overload == "default" else overload)
    key = _key_name(dispatch_key)
    if not _C._dispatch_has_computed_kernel_for_dispatch_key(overload_object.name(), key):
        raise RuntimeError(f"{overload_object.name()} has no kernel for {key}")

    def kernel(keys, *args, **kwargs):
        return overload_object.redispatch(_C.DispatchKeySet(key), *args, **kwargs)

    return kernel


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Tests that an operator's registrations agree with its schema: what it writes and aliases, its fake kernel, and
    whether it has a gradient where an argument requires one. Returns the outcome of each test by name."""
    from shunt import _custom_op
    return _custom_op.opcheck(op, args, kwargs or {}, test_utils, raise_exception)


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
