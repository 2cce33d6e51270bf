"""Shunt inside of PyTorch: functions captured once and run as plans.

Importing it imports torch, checks that it is the version for which the extension was built, and loads libshunt.
"""

from shunt_torch._load import check_torch as _check_torch
from shunt_torch._load import load_libshunt as _load_libshunt

_check_torch()
_load_libshunt()

from shunt_torch import _C  # noqa: E402, F401  needs both libraries
from shunt_torch._build import VERSION as __version__  # noqa: E402
from shunt_torch.capture import CheckFailed, capture  # noqa: E402
from shunt_torch.explain import explain  # noqa: E402

__all__ = ["CheckFailed", "__version__", "capture", "explain"]
