"""What runs a training graph of torch.compile: one node of Shunt's in autograd's graph, or AOTAutograd's own runtime.

Note [Whose runtime]
AOTAutograd's runtime is Python around a torch.autograd.Function made of Python: 30 us a forward call, twice that with
backward. Where nothing of what it is for is needed, a node in C++ (_C.TrainingCall) does the rest. AOTAutograd decides
by its metadata, and in each call by what the call's surroundings are: results that alias inputs or each other, inputs
that autograd sees written, subclasses, effects, transforms, dispatch modes and forward AD are left to it. Its runtime
is made when it is needed first.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Callable, Optional

import torch

from . import _C
from .graph import Graph

_train, _MISSED = _C.train, _C.MISSED


def install() -> None:
    """Makes AOTAutograd ask here for the runtime of graphs that are Shunt's. Those of other backends get what they
    always do."""
    from torch._functorch._aot_autograd.runtime_wrappers import AOTDispatchAutograd, RuntimeWrapper

    theirs, of_inference = AOTDispatchAutograd.post_compile, RuntimeWrapper.post_compile
    if getattr(theirs, "_asks_shunt", False):
        return

    def post_compile(spec: Any) -> Callable:
        return _runtime(spec, theirs) if isinstance(spec.compiled_fw_func, Graph) else theirs(spec)

    def post_compile_inference(self: Any, compiled_fn: Callable, aot_config: Any, *, runtime_metadata: Any) -> Callable:
        graph = getattr(compiled_fn, "compiled_fn", compiled_fn)  # without what can serialize it
        if isinstance(graph, Graph) and not self.trace_joint:
            graph.runtime = _why_not_inference(graph, runtime_metadata, self.disable_amp)
            if not graph.runtime:
                return _wrapping(compiled_fn, _with_dynamic_sizes(graph, runtime_metadata))
        return of_inference(self, compiled_fn, aot_config, runtime_metadata=runtime_metadata)

    post_compile._asks_shunt = True
    AOTDispatchAutograd.post_compile = staticmethod(post_compile)
    RuntimeWrapper.post_compile = post_compile_inference


def kept_by_aot() -> Any:
    """While it lasts, AOTAutogradCache keeps whole graphs, of any backend that can be pickled, and not Inductor's keys
    of them."""
    return torch._functorch.config.patch(bundled_autograd_cache=True)


def why_not(spec: Any) -> str:
    """What AOTAutograd's runtime is needed for; empty where nothing."""
    from torch._functorch._aot_autograd.runtime_wrappers import _should_disable_saved_tensors_hooks
    from torch._functorch._aot_autograd.schemas import OutputType, PlainTensorMeta

    m = spec.fw_metadata
    tensors = [info for info in m.output_info if issubclass(info.raw_type, torch.Tensor)]
    conditions = (
        (spec.maybe_subclass_meta is not None or any(type(t) is not PlainTensorMeta for t in m.subclass_tangent_meta),
         "subclasses of Tensor"),
        (m.num_mutated_inp_runtime_indices or m.indices_of_inputs_that_requires_grad_with_mutations_in_bw,
         "inputs that are written"),
        (m.num_outputs_aliased or m.num_intermediate_bases
         or any(info.output_type not in (OutputType.non_alias, OutputType.unsafe_view_alias) for info in m.output_info),
         "results that are views"),
        (any(info.requires_grad != info.requires_grad_for_backward for info in tensors),
         "results whose graph ends at them"),
        (m.tokens or m.num_backward_tokens, "effects"),
        (m.is_rng_op_functionalized or m.num_graphsafe_rng_states, "states of generators"),
        (m.num_opaque_objects_saved_for_bw or spec.backward_state_indices or m.act_input_indices,
         "objects that aren't tensors"),
        (m.grad_enabled_mutation is not None, "a grad mode that is set"),
        (_should_disable_saved_tensors_hooks(), "hooks of saved tensors that are compiled"),
        (torch._dynamo.config.compiled_autograd, "compiled autograd"),
        (spec.compiled_fw_func.has_custom_operators, "custom operators, whose aliasing is checked"),
    )
    return next((what for applies, what in conditions if applies), "")


def _why_not_inference(graph: Graph, m: Any, disable_amp: bool) -> str:
    """As why_not(): without autograd the graph itself may be what is called."""
    conditions = (
        (m.num_mutated_inp_runtime_indices or m.mutated_graph_handled_indices_seen_by_autograd,
         "inputs that are written"),
        (m.num_outputs_aliased, "results that are views"),
        (m.tokens, "effects"),
        (m.grad_enabled_mutation is not None, "a grad mode that is set"),
        (m.act_input_indices, "objects that aren't tensors"),
        (disable_amp, "autocast"),
        (graph.has_custom_operators, "custom operators, whose aliasing is checked"),
    )
    return next((what for applies, what in conditions if applies), "")


def _wrapping(compiled_fn: Callable, call: Callable) -> Callable:
    """`call`, in which PyTorch finds how to serialize `compiled_fn`."""
    if call is compiled_fn:
        return call

    def run(args: list) -> Any:
        return call(args)

    run.__wrapped__ = compiled_fn
    run._boxed_call = True
    return run


def _with_dynamic_sizes(call: Callable, m: Any) -> Callable:
    """Tells Dynamo which sizes of a call's results are dynamic, where a function goes on with them behind a break."""
    from torch._functorch._aot_autograd.runtime_wrappers import mark_dynamo_propagated_dynamic_indices as mark

    dynamic = [(i, info.dynamic_dims)
               for i, info in enumerate(m.output_info) if m.dynamic_outputs and info.dynamic_dims is not None]
    if not dynamic:
        return call

    def run(args: list) -> Any:
        out = call(args)
        for i, dims in dynamic:
            mark(out[i], dims)
        return out

    run._boxed_call = True
    return run


def _runtime(spec: Any, theirs: Callable) -> Callable:
    spec.compiled_fw_func.runtime = why_not(spec)
    backward = _Backward(spec)
    of_aot = _OfAot(spec, backward, theirs)
    if spec.compiled_fw_func.runtime:
        return of_aot.runtime()
    call = _training_call(spec, backward)

    def run(args: list) -> Any:
        out = _train(call, args)
        if out is _MISSED:
            return of_aot(args)
        args.clear()
        return out

    run._boxed_call = True
    return _with_dynamic_sizes(run, spec.fw_metadata)


def _training_call(spec: Any, backward: "_Backward") -> Any:
    from torch._functorch._aot_autograd.schemas import OutputType

    m = spec.fw_metadata
    differentiable = [issubclass(info.raw_type, torch.Tensor) and info.requires_grad for info in m.output_info]
    formats = [t.memory_format for t in m.subclass_tangent_meta]
    graph = spec.compiled_fw_func
    return _C.TrainingCall(
        recordings=graph.recordings, otherwise=graph, backward=backward.parts, differentiable=differentiable,
        views=[i for i, info in enumerate(m.output_info) if info.output_type is OutputType.unsafe_view_alias],
        unchecked=m.num_tensors_saved_with_no_vc_check, numbers=m.num_symints_saved_for_bw,
        detached=spec.indices_of_inps_to_detach,
        written=m.mutated_graph_handled_indices_seen_by_autograd if spec.aot_config.keep_inference_input_mutations else [],
        tangents=[f.memory_format if f.memory_format is not None else (tuple(f.size),
                                                                       tuple(f.stride)) for f in formats],
        without_autocast=spec.disable_amp, nondeterministic=m.deterministic is False)


class _Backward:
    """The backward graph, which AOTAutograd compiles, and keeps on disk with the forward graph, at the first
    backward()."""

    def __init__(self, spec: Any):
        from torch._functorch._aot_autograd.runtime_wrappers import _AutogradBackwardCompiler

        self._lock = threading.RLock()
        self._compiler = _AutogradBackwardCompiler(
            compiled_bw=spec.compiled_bw_func, lazy_backward_info=spec.lazy_backward_info, disable_amp=spec.disable_amp,
            bw_compiler=spec.bw_compiler, aot_config=spec.aot_config, fw_metadata=spec.fw_metadata,
            try_save_cache_entry=spec.try_save_cache_entry)
        # Dynamo may watch the frames of the function that calls backward().
        self.parts = torch._dynamo.disable(self._parts, reason="the compiler of a backward graph")
        self.run = torch._dynamo.disable(self._run, reason="a compiled backward graph")
        self.run._boxed_call = True

    def _compiled(self) -> Callable:
        with self._lock, kept_by_aot():
            return self._compiler.get_or_compile(saved_tensors_use_once=not torch._C._autograd._get_current_graph_task_keep_graph())

    def _parts(self) -> tuple[list, Callable]:
        """What _C.TrainingCall needs of it."""
        compiled = self._compiled()
        graph = _innermost(compiled)
        return (graph.recordings if graph is not None else [], compiled)

    def _run(self, args: list) -> Any:
        return (self._compiler.compiled_bw or self._compiled())(args)


class _OfAot:
    """AOTAutograd's own runtime of the same graphs, made in the first call that needs it."""

    def __init__(self, spec: Any, backward: _Backward, theirs: Callable):
        self._spec = dataclasses.replace(spec, compiled_bw_func=backward.run, try_save_cache_entry=None)
        self._theirs = theirs
        self._runtime: Optional[Callable] = None
        self._lock = threading.Lock()

    def runtime(self) -> Callable:
        with self._lock:
            if self._runtime is None:
                self._runtime = self._theirs(self._spec)
        return self._runtime

    def __call__(self, args: list) -> Any:
        return self.runtime()(args)


def _innermost(compiled: Any) -> Optional[Graph]:
    """The graph inside of what torch._dynamo.disable() has wrapped."""
    while compiled is not None and not isinstance(compiled, Graph):
        compiled = getattr(compiled, "_torchdynamo_orig_callable", None)
    return compiled
