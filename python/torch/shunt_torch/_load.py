"""What has to hold before the extension is loaded: the right PyTorch, and one libshunt in the process."""

from shunt_torch import _build
from shunt_torch._libshunt import libshunt as _libshunt
from shunt_torch._libshunt import load_libshunt, loaded_libshunts  # noqa: F401
from shunt_torch._libshunt import minor as _minor


def check_torch() -> None:
    """Imports torch; ImportError where it is of another minor version than the extension was built for.

    The extension uses C++ interfaces that change with every minor version, so loading it would end in missing symbols,
    or worse, in none missing.
    """
    ours = f"shunt-torch {_minor(_build.VERSION)}"
    install = f"pip install 'torch=={_build.TORCH}.*'"
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{ours} works with PyTorch {_build.TORCH}; there is none. {install}") from None
    version = str(torch.__version__)
    if _minor(version) != _build.TORCH:
        raise ImportError(f"{ours} works with PyTorch {_build.TORCH}; this is {version}. {install}")
