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
from shunt._creation import (asarray, is_complex, is_floating_point, is_inference, is_nonzero, is_same_size, is_signed,
                             is_storage, is_tensor, logspace, numel)
from shunt._dlpack import from_dlpack, from_torch, to_torch
from shunt._legacy import types as _legacy_types
from shunt._printing import set_printoptions
from shunt._type_info import finfo, iinfo, result_type
from shunt.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from shunt._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

from shunt import _reduction, autograd, compiler
from shunt._as_torch import as_torch
from shunt.compiler import compile

globals().update(_legacy_types)

__version__ = _C.__version__

# What programs may take as shunt.<name> without an import of its own, and few use.
_MODULES = frozenset(("func", "linalg", "nn", "optim", "special", "utils"))

# Checkers of types take it for true, and so find misspelt names.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from shunt import func, nn, optim, utils
else:
    def __getattr__(name):
        from shunt._near_names import no_attribute
        if name in _MODULES:
            import importlib
            return importlib.import_module(f"shunt.{name}")
        raise no_attribute("module 'shunt'", name, [*globals(), *_MODULES])


def __dir__():
    return [*globals(), *_MODULES]
