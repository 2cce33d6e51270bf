"""What the functions that are written in Python do under autocast, by the names of PyTorch's operators.

kernels/operators/autocast.yaml has the policies of the operators in C++. Autocast treats each function here as one
operator: by_policy() casts its tensors, and the operators that it calls run without autocast.

    lower_precision_fp: casts floating-point tensors to autocast's dtype
    fp32: casts them to float32
    promote: casts them to float32, unless all have autocast's dtype
    as_given: casts nothing

- Tensors of float64, and tensors on devices without autocast, stay as they are.
- A call with out= casts nothing; the operators that it calls run without autocast as well.
- Autocast is a state of the thread, so a call follows the autocast of the thread that makes it.
"""

import functools

from shunt import _C

POLICIES = {
    name: policy
    for policy, names in {
        "lower_precision_fp": "addbmm conv3d conv_transpose3d linalg_vecdot prelu "
        # Scores plus a mask: PyTorch computes both in one baddbmm.
        "attention_scores",
        "fp32": "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d cdist cholesky_inverse cholesky_solve "
        "cosine_embedding_loss ctc_loss fractional_max_pool2d fractional_max_pool3d grid_sampler "
        "hinge_embedding_loss margin_ranking_loss max_pool3d max_unpool2d max_unpool3d multi_margin_loss "
        "multilabel_margin_loss nanquantile poisson_nll_loss quantile reflection_pad replication_pad "
        "soft_margin_loss triplet_margin_loss",
        "promote": "index_copy",
        # Functions without a policy in PyTorch. They call operators here that have one.
        "as_given": "addbmm_ bilinear dot multilabel_soft_margin_loss weighted_loss",
    }.items()
    for name in names.split()
}

# Device types other than "cpu" for which the package has entered autocast, on any thread. Never shrinks.
other_devices = set()


def by_policy(name):
    """Returns a decorator that applies the policy POLICIES[name] to a function. While autocast is off, a call costs
    0.3 us more than the function itself, and 1 us more once autocast for another device type was entered."""
    dtype_of, is_enabled = _DTYPES[POLICIES[name]], _C._is_autocast_enabled

    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            if is_enabled("cpu") or other_devices:
                return _call(function, dtype_of, args, kwargs)
            return function(*args, **kwargs)

        return decorated

    return decorate


def _call(function, dtype_of, args, kwargs):
    tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, _C.TensorBase)]
    device = _device_of(tensors)
    if device is None:
        return function(*args, **kwargs)
    if kwargs.get("out") is None and (dtype := dtype_of(device, [x for x in tensors if _is_cast(x, device)])):
        args = [_cast(x, device, dtype) for x in args]
        kwargs = {key: _cast(x, device, dtype) for key, x in kwargs.items()}
    # Switches autocast off until the function returns; the dtype is unused.
    guard = _C._enter_autocast(device, _C.bfloat16, False, _C.is_autocast_cache_enabled())
    try:
        return function(*args, **kwargs)
    finally:
        _C._exit_autocast(guard)


def _device_of(tensors):
    """The device type of the first tensor whose device has autocast on; None if there is no such tensor."""
    for x in tensors:
        device = x.device.type
        if (device == "cpu" or device in other_devices) and _C._is_autocast_enabled(device):
            return device
    return None


def _is_cast(x, device):
    return x.is_floating_point() and x.device.type == device and x.dtype is not _C.float64


def _cast(x, device, dtype):
    return x.to(dtype) if isinstance(x, _C.TensorBase) and _is_cast(x, device) else x


def _widest(device, tensors):
    dtypes = {_C._autocast_dtype(device), *(x.dtype for x in tensors)}
    return _C.float32 if len(dtypes) > 1 else None


_DTYPES = {
    "lower_precision_fp": lambda device, tensors: _C._autocast_dtype(device),
    "fp32": lambda device, tensors: _C.float32,
    "promote": _widest,
    "as_given": lambda device, tensors: None,
}


def in_lower_precision(tensors):
    """Casts tensors, in nested tuples, to autocast's dtype. Returns them as they are while autocast is off."""
    if isinstance(tensors, tuple):
        return tuple(map(in_lower_precision, tensors))
    device = _device_of([tensors])
    return tensors if device is None else _cast(tensors, device, _C._autocast_dtype(device))
