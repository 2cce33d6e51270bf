"""Python state of PyTorch's own that decides what its functions compute: it isn't walked, so what matters of it is
named here."""

from __future__ import annotations

import os
from typing import Any, Iterable, Iterator

import torch
import torch.backends.mha
import torch.backends.opt_einsum
import torch.distributions.kl
import torch.nn.utils.parametrize

from .guard import Guard, is_value, type_lookup

# Keys under which a kernel takes part in what runs on the CPU.
_KEYS = frozenset(
    {
        "CPU", "Autograd", "AutogradCPU", "AutocastCPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional", "ADInplaceOrView", "BackendSelect", "Negative", "Conjugate",
    }
)  # fmt: skip


def guards(library_called: Iterable[str] = ()) -> list[Guard]:
    """`library_called`: the names of PyTorch's Python functions that ran."""
    found = []
    if "kl_divergence" in library_called:
        registry = torch.distributions.kl._KL_REGISTRY
        path = "the functions registered by register_kl"
        found.append(Guard("keys", registry, None, tuple(registry), False, path))
        found.extend(Guard("item", registry, key, value, False, path) for key, value in registry.items())
    for module, name in (
        (torch.backends.mha, "_is_fastpath_enabled"),
        (vars(torch.backends.opt_einsum)["m"], "enabled"),
        (vars(torch.backends.opt_einsum)["m"], "strategy"),
        (torch.nn.utils.parametrize, "_cache_enabled"),
    ):
        if name in vars(module):
            value = vars(module)[name]
            found.append(Guard("item", vars(module), name, value, is_value(value), f"{module.__name__}.{name}"))
    kind, name = torch.distributions.Distribution, "_validate_args"
    found.append(Guard("type_attribute", kind, name, type_lookup(kind, name), True, f"{kind.__qualname__}.{name}"))
    # Kernels that were registered, and libraries that were loaded, whose kernels aren't listed.
    kernels, libraries = torch.library._impls, torch.ops.loaded_libraries
    found.append(Guard("length", kernels, None, len(kernels), False, "the number of kernels registered from Python "
                                                                     "(torch.library)"))
    found.append(Guard("length", libraries, None, len(libraries), False, "the number of libraries loaded "
                                                                         "(torch.ops.load_library)"))
    return found


def users_kernels() -> set[str]:
    """Operators of PyTorch's for which somebody else registered a kernel from Python: aten::mul.Tensor."""
    parts = (key.rpartition("/") for key in torch.library._impls if key.startswith("aten/"))
    return {"aten::" + name.partition("/")[2] for name, _, key in parts if key in _KEYS}


def outside_autocast() -> str:
    """Why a call can't be recorded inside of autocast that was entered before it; empty where it can."""
    if torch.is_autocast_enabled("cpu") and torch.is_autocast_cache_enabled():
        return ("autocast was entered outside of the call, and keeps its casts of parameters from call to call: enter "
                "it in the function, or with cache_enabled=False")
    return ""


def hooks_of(owner: Any) -> Iterator[tuple[str, Any]]:
    """The hooks of a module or optimiser but for those that are PyTorch's own code: (name of their dict, hook)."""
    folder = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    for name, hooks in vars(owner).items():
        if name.endswith("_hooks") and "state_dict" not in name and isinstance(hooks, dict):
            for hook in hooks.values():
                function = getattr(hook, "__func__", hook)
                code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
                if code is None or not code.co_filename.startswith(folder):
                    yield name, hook
