"""torch.compile(model, backend="shunt"): graphs of AOTAutograd, without decompositions, on the plans that capture() has.

Dynamo guards what a graph depends on, and AOTAutograd gives a forward and a backward graph of ATen's operators. Each is recorded at
its first call with given sizes, and replayed from then on. The operators are eager's, so the bits are, too.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Optional

import torch

from .graph import Graph
from .training import install

_OPTIONS = {"numerics": ("exact", "fast")}


def shunt_backend(graph: torch.fx.GraphModule, example_inputs: list, *, mode: Optional[str] = None, options: Optional[dict] = None) -> Any:
    """The backend that torch.compile(backend="shunt") calls. options: {"numerics": "exact" or "fast"}, as of capture()."""
    from torch._dynamo.backends.common import aot_autograd

    for option, value in (options or {}).items():
        if option not in _OPTIONS:
            raise ValueError(f'torch.compile(backend="shunt"): there is no option {option!r}; there are {", ".join(map(repr, _OPTIONS))}')
        if value not in _OPTIONS[option]:
            raise ValueError(f'torch.compile(backend="shunt"): {option} is {" or ".join(map(repr, _OPTIONS[option]))}, not {value!r}')
    if mode not in (None, "default"):
        raise ValueError(f'torch.compile(backend="shunt"): there is no mode {mode!r}')
    if os.environ.get("SHUNT_TORCH", "1") == "0":
        return graph.forward
    numerics = (options or {}).get("numerics", "exact")
    name = _name_of(graph)

    def compiler(kind: str) -> Callable:
        return lambda graph, example_inputs: Graph(graph, f"{kind} of {name}", numerics)

    install()
    compiled = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), inference_compiler=compiler("inference"),
                            decompositions={}, keep_inference_input_mutations=True)
    return compiled(graph, example_inputs)


def _name_of(graph: torch.fx.GraphModule) -> str:
    """Dynamo's number of the compilation, as its logs have it, and the user's line that the graph begins with."""
    compilation = torch._guards.CompileContext.current_compile_id()
    found = (re.findall(r'File "([^"]*)", line (\d+)', n.stack_trace or "") for n in graph.graph.nodes)
    where = next((f"{os.path.basename(lines[0][0])}:{lines[0][1]}" for lines in found if lines), "")
    return " ".join(part for part in (f"[{compilation}]" if compilation is not None else "", where) if part)
