"""torch.compile(model, backend="shunt"): graphs of AOTAutograd, without decompositions, on the plans that capture() has.

Dynamo guards what a graph depends on, and AOTAutograd gives a forward and a backward graph of ATen's operators. Each is recorded at
its first call with given sizes, and replayed from then on. The operators are eager's, so the bits are, too.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

import torch

from . import _C
from .guard import MISSING, is_value
from .recorded_call import RecordedCall
from .refusal import Refused

_call, _MISSED = _C.call, _C.MISSED
_NO_KEYWORDS: dict = {}
_MAX_RECORDINGS = 8  # of one graph: sizes


class _RecordedGraph(RecordedCall):
    """A call of a graph: what it depends on is its arguments and its own constants. History is AOTAutograd's business."""

    history = False

    def __init__(self, graph: torch.fx.GraphModule, args: list):
        self.constants = [(f"graph.{n.target}", getattr(graph, n.target)) for n in graph.graph.find_nodes(op="get_attr")
                          if isinstance(getattr(graph, n.target, None), torch.Tensor)]
        super().__init__(lambda values: graph(*values), (args,), {}, None)

    def _before(self, function: Callable, args: tuple, kwargs: dict, observed: None) -> None:
        arguments = _C.Arguments(args, kwargs, is_value)
        for path, _ in arguments.objects:
            raise Refused(f"{path} of the graph is neither a tensor nor a number")
        self.inputs = [*arguments.tensors, *self.constants]
        self.state = _C.StateGuards([], MISSING)
        self._save(arguments, [t for _, t in self.constants], [-1] * len(self.constants))

    def _run(self, function: Callable, args: tuple, kwargs: dict, observed: None) -> None:
        with self.recorder:
            self.result = function(*args, **kwargs)
        self.refusal = self.recorder.refusal


class Graph:
    """A graph of AOTAutograd as it is called: with a list, which it empties."""

    def __init__(self, graph: torch.fx.GraphModule):
        self._boxed_call = True  # of the object: Dynamo's wrappers take over no others
        self._graph = graph
        self._recordings: list = []
        self.refusal: Optional[Refused] = None
        self.calls: dict = {}

    def __call__(self, args: list) -> Any:
        # AOTAutograd keeps history outside of its graphs, in whatever mode it calls them.
        grad_mode = torch.is_grad_enabled()
        if grad_mode:
            torch._C._set_grad_enabled(False)
        try:
            out = _call(self._recordings, (args,), _NO_KEYWORDS)
            if out is _MISSED:
                out = self._missed(args)
        finally:
            if grad_mode:
                torch._C._set_grad_enabled(True)
        args.clear()
        return out

    def _missed(self, args: list) -> Any:
        reason = self.refusal is not None or len(self._recordings) >= _MAX_RECORDINGS or _C.surroundings_refusal()
        if reason or not _enabled():
            return self._graph(*args)
        call = _RecordedGraph(self._graph, args)
        if call.recording is None:
            self.refusal = call.refusal
        else:
            call.recording.check_at = 2**64 - 1
            self.calls[id(call.recording)] = call
            self._recordings = [call.recording, *self._recordings]
        result, call.result = call.result, None
        return result


def shunt_backend(graph: torch.fx.GraphModule, example_inputs: list, *, mode: Optional[str] = None, options: Optional[dict] = None) -> Any:
    """The backend that torch.compile(backend="shunt") calls. options: none so far."""
    from torch._dynamo.backends.common import aot_autograd

    for option in options or {}:
        raise ValueError(f"torch.compile(backend=\"shunt\"): there is no option {option!r}")
    if mode not in (None, "default"):
        raise ValueError(f"torch.compile(backend=\"shunt\"): there is no mode {mode!r}")

    def compiler(graph: torch.fx.GraphModule, example_inputs: list) -> Graph:
        return Graph(graph)

    compiled = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, inference_compiler=compiler, decompositions={},
                            keep_inference_input_mutations=True)
    return compiled(graph, example_inputs)


def _enabled() -> bool:
    return os.environ.get("SHUNT_TORCH", "1") != "0"
