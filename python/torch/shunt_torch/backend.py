"""torch.compile(model, backend="shunt"): graphs of AOTAutograd, without decompositions, on the plans that capture()
has.

Dynamo guards what a graph depends on, and AOTAutograd gives a forward and a backward graph of ATen's operators. Each is
recorded at its first call with given sizes, and replayed from then on. The operators are eager's, so the bits are, too.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from . import _C
from .graph import Graph
from .graph_code import FORMAT, GraphCode
from .training import install, kept_by_aot

_OPTIONS = {"numerics": ("exact", "fast")}


def shunt_backend(graph: torch.fx.GraphModule, example_inputs: list, *, mode: Optional[str] = None,
                  options: Optional[dict] = None) -> Any:
    """The backend that torch.compile(backend="shunt") calls. options: {"numerics": "exact" or "fast"}, as of
    capture()."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import SerializableAOTDispatchCompiler

    for option, value in (options or {}).items():
        if option not in _OPTIONS:
            raise ValueError(f'torch.compile(backend="shunt"): there is no option {option!r}; there are '
                             f'{", ".join(map(repr, _OPTIONS))}')
        if value not in _OPTIONS[option]:
            raise ValueError(f'torch.compile(backend="shunt"): {option} is {" or ".join(map(repr, _OPTIONS[option]))}, '
                             f'not {value!r}')
    if mode not in (None, "default"):
        raise ValueError(f'torch.compile(backend="shunt"): there is no mode {mode!r}')
    if not _C.is_switched_on():
        return graph.forward
    numerics = (options or {}).get("numerics", "exact")

    def compiler(kind: str) -> Any:
        return SerializableAOTDispatchCompiler(Graph,
                                               lambda graph, example_inputs: Graph(GraphCode(graph), kind, numerics))

    install()
    # Part of the key of AOTAutogradCache: what other backends or versions have kept of the same program isn't ours.
    graph._shunt_torch = f"{_C.runtime_version()} {FORMAT} {numerics}"
    compiled = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
                            inference_compiler=compiler("inference"),
                            decompositions={}, keep_inference_input_mutations=True)
    with kept_by_aot():
        return compiled(graph, example_inputs)
