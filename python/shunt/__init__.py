"""Shunt: tensors with PyTorch's names and semantics, whose operators are compiled while the program runs.

    import shunt
    x = shunt.randn(3, 4, requires_grad=True)
    y = (x * 2).relu().sum()
    y.backward()
    print(x.grad)
"""

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

from shunt import _composites, _reduction, autograd, linalg, nn, special

globals().update(_legacy_types)
_composites.add_methods(Tensor)

__version__ = _C.__version__
