"""What shunt._C has of the dispatcher besides its functions of C++: keys, and guards that set the thread's keys.

Loaded when a program asks shunt._C for one of these names.
"""

import enum

from shunt import _C
from shunt._C import DispatchKeySet

DispatchKey = enum.IntEnum("DispatchKey", [(name, value) for name, value, _ in _C._dispatch_key_names()],
                           module="shunt._C")
DispatchKey.__doc__ = "What a kernel can be registered for: backends, Autograd, Autocast, Python, ..."
DispatchKey.__str__ = lambda self: f"DispatchKey.{self.name}"
DispatchKey.__repr__ = lambda self: f"<DispatchKey.{self.name}: {self.value}>"


def _dispatch_key_name(key):
    """The name of a key."""
    return DispatchKey(_C._dispatch_key_value(key)).name


def _dispatch_key_parse(name):
    """The key of a name; a RuntimeError where there is none."""
    return DispatchKey(_C._dispatch_key_value(name))


def _parse_dispatch_key(name):
    """The key of a name, or None."""
    try:
        return _dispatch_key_parse(name)
    except RuntimeError:
        return None


def _dispatch_key_for_device(device_type):
    """The name of the key of a device type's kernels: 'CPU' for 'cpu'."""
    names = {"cpu": "CPU", "cuda": "CUDA", "hip": "HIP", "xpu": "XPU", "hpu": "HPU", "xla": "XLA", "mps": "MPS",
             "meta": "Meta", "privateuseone": "PrivateUse1"}
    if device_type not in names:
        from shunt._near_names import did_you_mean
        raise RuntimeError(f"there is no dispatch key for the device type '{device_type}'; expected one of "
                           f"{sorted(names)}{did_you_mean(device_type, names)}")
    return names[device_type]


def _dispatch_keyset_to_string(keys):
    return repr(keys)


def _dispatch_keyset_full():
    return DispatchKeySet(*[key for name, key, is_alias in _C._dispatch_key_names() if not is_alias and key != 0])


def _dispatch_keyset_full_after(key):
    """All keys below this one."""
    top = DispatchKeySet(key).raw_repr() & ~_C._backend_mask
    if top == 0:
        raise ValueError(f"{key} is no key with a place among the others")
    return DispatchKeySet.from_raw_repr(_dispatch_keyset_full().raw_repr() & ((1 << (top.bit_length() - 1)) - 1))


def _is_in(key, keys):
    return bool(DispatchKeySet(key).raw_repr() & ~_C._backend_mask & keys.raw_repr())


def _dispatch_tls_is_dispatch_key_excluded(key):
    return _is_in(key, _C._dispatch_tls_local_exclude_set())


def _dispatch_tls_is_dispatch_key_included(key):
    return _is_in(key, _C._dispatch_tls_local_include_set())


def _dispatch_tls_set_dispatch_key_excluded(key, on):
    _C._tls_exclude(DispatchKeySet(key), bool(on))


def _dispatch_tls_set_dispatch_key_included(key, on):
    _C._tls_include(DispatchKeySet(key), bool(on))


def _as_operator(op):
    if isinstance(op, str):
        name, _, overload = op.partition(".")
        return _C._get_operator(name, "" if overload == "default" else overload)
    return op


def _dispatch_call_boxed(op, *args, **kwargs):
    """Calls an operator, given as shunt.ops.ns.name.overload or by its name, through its boxed form."""
    return _as_operator(op)(*args, **kwargs)


def _dispatch_find_schema_or_throw(name, overload=""):
    """The operator of this name; a RuntimeError, with names that are near, where there is none."""
    return _C._get_operator(name, overload)


class _KeyGuard:
    """Sets keys of the thread for a block, and puts them back as they were."""

    def __init__(self, keys):
        self._keys = keys if isinstance(keys, DispatchKeySet) else DispatchKeySet(keys)

    def __enter__(self):
        self._before = self._set(self._keys, self._on)
        return self

    def __exit__(self, *error):
        self._set(self._keys, False)
        if self._before:
            self._set(self._before, True)


class _ExcludeDispatchKeyGuard(_KeyGuard):
    """Calls in the block, on this thread, don't look at these keys."""

    _on, _set = True, staticmethod(_C._tls_exclude)


class _IncludeDispatchKeyGuard(_KeyGuard):
    """Calls in the block, on this thread, have these keys besides those of their arguments."""

    _on, _set = True, staticmethod(_C._tls_include)


class _ForceDispatchKeyGuard:
    """The thread's keys are exactly these in the block."""

    def __init__(self, include, exclude):
        self._wanted = include, exclude

    def __enter__(self):
        self._before = _C._dispatch_tls_local_include_set(), _C._dispatch_tls_local_exclude_set()
        self._apply(*self._wanted)
        return self

    def __exit__(self, *error):
        self._apply(*self._before)

    @staticmethod
    def _apply(include, exclude):
        everything = _dispatch_keyset_full()
        _C._tls_include(everything, False)
        _C._tls_include(include, True)
        _C._tls_exclude(everything, False)
        _C._tls_exclude(exclude, True)


class _AutoDispatchBelowAutograd(_ExcludeDispatchKeyGuard):
    """What a kernel for Autograd holds around the call of the kernel below: Autograd and ADInplaceOrView are off."""

    def __init__(self):
        super().__init__(DispatchKeySet("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor",
                                        "ADInplaceOrView"))


class _AutoDispatchBelowADInplaceOrView(_AutoDispatchBelowAutograd):
    """The same for a kernel for ADInplaceOrView."""


class _DisableTorchDispatch(_ExcludeDispatchKeyGuard):
    """From its construction to its end, on this thread, classes' __torch_dispatch__ is not asked. A context manager,
    too, which ends with the block."""

    def __init__(self):
        super().__init__(DispatchKeySet("PythonKernel"))
        super().__enter__()
        self._on_thread = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._on_thread:
            self._on_thread = False
            super().__exit__(*error)

    __del__ = __exit__


class _TorchFunctionGuard:
    _wanted = 0

    def __init__(self):
        self._before = []

    def __enter__(self):
        self._before.append(_C._set_torch_function_state(max(self._wanted, _C._get_torch_function_state())))
        return self

    def __exit__(self, *error):
        _C._set_torch_function_state(self._before.pop())


class DisableTorchFunctionSubclass(_TorchFunctionGuard):
    """In the block, __torch_function__ of classes is not asked; modes are."""

    _wanted = 1


class DisableTorchFunction(_TorchFunctionGuard):
    """In the block, neither __torch_function__ of classes nor TorchFunctionModes are asked."""

    _wanted = 2


class _EnableTorchFunction(_TorchFunctionGuard):
    """In the block, both are asked again."""

    def __enter__(self):
        self._before.append(_C._set_torch_function_state(0))
        return self


def _is_torch_function_enabled():
    return _C._get_torch_function_state() == 0


def _is_torch_function_all_disabled():
    return _C._get_torch_function_state() == 2


def _is_torch_function_mode_enabled():
    return _C._get_torch_function_state() != 2 and _C._len_torch_function_stack() > 0


def _get_dispatch_stack_at(place):
    return _C._get_dispatch_stack()[place]
