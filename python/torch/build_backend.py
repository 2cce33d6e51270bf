"""scikit-build-core's build backend, which asks for PyTorch where there is none to compile against.

Asking always, as a line of pyproject.toml does, would install PyTorch once more for every build.
"""

import os
import sys

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # the backend-path of pyproject.toml finds the backend only
import find_torch  # noqa: E402

_TORCH = "2.13"


def get_requires_for_build_wheel(config_settings=None):
    requires = _build.get_requires_for_build_wheel(config_settings)
    folder = find_torch.torch_folder()
    if folder is None or not find_torch.torch_version(folder).startswith(_TORCH + "."):
        requires = [*requires, f"torch=={_TORCH}.*"]
    return requires
