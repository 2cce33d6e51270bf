"""Shunt: tensors with PyTorch's names and semantics, whose operators are compiled while the program runs.

    import shunt
    x = shunt.randn(3, 4, requires_grad=True)
    y = (x * 2).relu().sum()
    y.backward()
    print(x.grad)
"""

from math import e, inf, nan, pi

from shunt import _load  # before _C, which needs libshunt
from shunt import _C
from shunt._C import *  # noqa: F403  dtypes, device, Size, Generator
from shunt._tensor import Tensor
from shunt._operators import *  # noqa: F403  the dictionary's functions
from shunt._composites import *  # noqa: F403  those that are made of them
from shunt._creation import (asarray, is_complex, is_floating_point, is_inference, is_nonzero, is_same_size, is_signed,
                             is_storage, is_tensor, logspace, numel)
from shunt._dlpack import from_dlpack, from_torch, to_torch
from shunt._legacy import types as _legacy_types
from shunt._printing import set_printoptions
from shunt._type_info import finfo, iinfo, result_type
from shunt.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from shunt._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

from shunt import _composites, _reduction, autograd, compiler
from shunt._as_torch import as_torch
from shunt.compiler import compile

globals().update(_legacy_types)
_composites.add_methods(Tensor)

__version__ = _C.__version__
newaxis = None

# What programs may take as shunt.<name> without an import of its own, and few use: modules, and names with their
# modules.
_MODULES = frozenset(("__config__", "_subclasses", "accelerator", "amp", "array_api", "backends", "cuda", "distributed",
                      "distributions", "func", "jit", "library", "linalg", "multiprocessing", "nn", "onnx", "optim",
                      "overrides", "profiler", "random", "return_types", "serialization", "special", "testing",
                      "types", "utils", "version"))
_NAMES = {
    "Tag": "shunt._tags",
    **dict.fromkeys(("BoolType", "DeviceObjType", "FloatType", "IntType", "ListType", "NumberType", "OptionalType",
                     "StringType", "TensorType"), "shunt._schema"),
    "load": "shunt.serialization",
    "i0": "shunt.special",
    "OutOfMemoryError": "shunt.cuda",
    "ops": "shunt._ops",
    "pdist": "shunt.nn.functional",
    "vmap": "shunt.func",
    "save": "shunt.serialization",
    "stats": "shunt.jit",
    "explain": "shunt.jit",
    **dict.fromkeys(("autocast", "is_autocast_enabled", "is_autocast_cpu_enabled", "get_autocast_dtype",
                     "set_autocast_dtype", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype"),
                    "shunt.amp.autocast_mode"),
    **dict.fromkeys(("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
                     "get_float32_matmul_precision", "get_num_interop_threads",
                     "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
                     "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
                     "set_flush_denormal", "set_num_interop_threads", "set_warn_always", "typename",
                     "use_deterministic_algorithms", "_assert"), "shunt._settings"),
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout",
                     "alpha_dropout_", "avg_pool1d", "bilinear", "celu", "celu_", "channel_shuffle", "constant_pad_nd",
                     "conv3d", "conv_transpose3d", "cosine_embedding_loss", "ctc_loss", "dropout_",
                     "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_",
                     "grid_sampler", "hardshrink", "hinge_embedding_loss", "instance_norm", "margin_ranking_loss",
                     "max_pool1d_with_indices", "max_pool3d", "native_channel_shuffle", "norm_except_dim",
                     "pairwise_distance", "poisson_nll_loss", "prelu", "rrelu", "rrelu_", "selu", "selu_",
                     "triplet_margin_loss"), "shunt._network_functions"),
    **dict.fromkeys(("angle", "cholesky_inverse", "frexp", "frobenius_norm", "gcd", "gcd_", "get_device", "is_conj",
                     "is_distributed", "is_neg", "lcm", "lcm_", "mvlgamma"), "shunt._rare_functions"),
    **dict.fromkeys(("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"),
                    "shunt._windows"),
}

# Checkers of types take it for true, and so find misspelt names.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from shunt import (_subclasses, accelerator, amp, array_api, backends, cuda, distributed, distributions, func, jit,
                       library, multiprocessing, nn, onnx, optim, overrides, profiler, random, return_types,
                       serialization, testing, types, utils, version)
    from shunt._ops import ops
    from shunt.amp.autocast_mode import (autocast, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype,
                                         is_autocast_cpu_enabled, is_autocast_enabled, set_autocast_dtype)
    from shunt.jit import explain, stats
    from shunt.serialization import load, save
else:
    def __getattr__(name):
        import importlib
        if name in _MODULES:
            try:
                return importlib.import_module(f"shunt.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"shunt.{name}":
                    raise
        elif name in _NAMES:
            value = globals()[name] = getattr(importlib.import_module(_NAMES[name]), name)
            return value
        import sys
        from shunt._near_names import no_name
        raise no_name("shunt", name, [*globals(), *_MODULES, *_NAMES], sys._getframe(1), __file__)


def __dir__():
    return [*globals(), *_MODULES, *_NAMES]


def _dispatcher_attribute(name):
    # The dispatcher's keys and guards, which are Python's, and classes that others of the package have.
    if name in _NAMES and (name.endswith("Type") or name == "Tag"):
        return __getattr__(name)
    if name == "_LinAlgError":
        from shunt.linalg import LinAlgError
        return LinAlgError
    from shunt import _dispatch
    if name.startswith("__") or not hasattr(_dispatch, name):
        raise AttributeError(f"module 'shunt._C' has no attribute '{name}'")
    return getattr(_dispatch, name)


_C.__getattr__ = _dispatcher_attribute
