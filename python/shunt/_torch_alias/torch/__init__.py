"""What `import torch` finds in a process that multiprocessing has started for one in which Shunt answers it."""

import sys

from shunt._as_torch import as_torch

del sys.modules["torch"]
as_torch()
import torch  # noqa: E402, F401  Shunt's, which takes this module's place
