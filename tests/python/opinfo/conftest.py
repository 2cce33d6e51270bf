"""Puts the folder of what is shared with the judges of shunt_torch on the path; without PyTorch nothing here is
collected."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "torch"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

if not all(map(importlib.util.find_spec, ("torch", "expecttest", "numpy"))):
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    torch.set_num_threads(1)
