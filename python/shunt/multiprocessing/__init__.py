"""Python's multiprocessing, with spawn(). Tensors go through queues and pipes as copies, but for those whose memory is
shared: Tensor.share_memory_()."""

import multiprocessing as _python
from multiprocessing import *  # noqa: F403  as torch.multiprocessing has it

from shunt.multiprocessing._spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies():
    """How tensors get to other processes: as copies."""
    return {"copy"}


def get_sharing_strategy():
    """How tensors get to other processes: as copies."""
    return "copy"


def set_sharing_strategy(new_strategy):
    """Takes PyTorch's strategies, too, whose place copies take. ValueError for others."""
    if new_strategy not in ("copy", "file_descriptor", "file_system"):
        raise ValueError(
            f"set_sharing_strategy(): expected 'copy', 'file_descriptor' or 'file_system', not {new_strategy!r}"
        )
