"""The default generator's state: seeds, and blocks that leave it as it was."""

import contextlib

from shunt._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """In the block numbers are drawn as usual; after it the generator goes on from where it was before. `enabled` False
    does nothing. Devices' generators are left alone."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
