"""What the functions that are written in Python do under autocast, by the names of PyTorch's operators.

kernels/operators/autocast.yaml has the policies of the dictionary's operators. A function here is to autocast one
operator, too: its tensors are cast by its policy, and the operators that it is made of then run without autocast.

    lower_precision_fp: floating-point tensors are cast to autocast's dtype
    fp32: they are cast to float32
    promote: they are cast to float32 unless they have one dtype
    as_given: they stay as they are

As for operators, float64 stays as it is, and calls with out= are not cast. A thread's autocast counts for its own calls.
"""

import functools
import sys

from shunt import _C

POLICIES = {
    name: policy
    for policy, names in {
        "lower_precision_fp": "addbmm conv3d conv_transpose3d linalg_vecdot prelu "
        # Sums of scores and masks, which PyTorch's baddbmm makes.
        "attention_scores",
        "fp32": "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d cdist cholesky_inverse cholesky_solve "
        "cosine_embedding_loss ctc_loss fractional_max_pool2d fractional_max_pool3d grid_sampler "
        "hinge_embedding_loss margin_ranking_loss max_pool3d max_unpool2d max_unpool3d multi_margin_loss "
        "multilabel_margin_loss nanquantile poisson_nll_loss quantile reflection_pad replication_pad "
        "soft_margin_loss triplet_margin_loss",
        "promote": "index_copy",
        # Made here of operators with a policy, where PyTorch's have none.
        "as_given": "addbmm_ bilinear dot multilabel_soft_margin_loss weighted_loss",
    }.items()
    for name in names.split()
}

# Types of devices other than the CPU for which this process has switched on autocast.
other_devices = set()


def by_policy(name):
    """Decorates a function so that autocast treats it as PyTorch's operator of the name. Without autocast it costs one
    look at the thread's state."""
    dtype_of = _DTYPES[POLICIES[name]]

    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            if _C._is_autocast_enabled("cpu") or other_devices:
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
    # The dtype doesn't matter, as this autocast is off.
    guard = _C._enter_autocast(device, _C.bfloat16, False, _C.is_autocast_cache_enabled())
    try:
        return function(*args, **kwargs)
    finally:
        _C._exit_autocast(guard)


def _device_of(tensors):
    """The type of the first device here for which autocast is on; None where there is none."""
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
    dtypes = {x.dtype for x in tensors}
    return _C.float32 if len(dtypes) > 1 else None


_DTYPES = {
    "lower_precision_fp": lambda device, tensors: _C._autocast_dtype(device),
    "fp32": lambda device, tensors: _C.float32,
    "promote": _widest,
    "as_given": lambda device, tensors: None,
}


def frames_above(depth):
    """How many frames of decorated functions stand above the frame at this depth, for the stacklevel of a warning."""
    count, frame = 0, sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename == __file__:
        count, frame = count + 1, frame.f_back
    return count


def in_lower_precision(tensors):
    """The tensors, a nest of tuples, cast to the dtype of the autocast that is on; as they are without one."""
    if isinstance(tensors, tuple):
        return tuple(map(in_lower_precision, tensors))
    device = _device_of([tensors])
    return tensors if device is None else _cast(tensors, device, _C._autocast_dtype(device))
