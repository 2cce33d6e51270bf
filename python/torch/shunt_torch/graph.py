"""Graph: a graph of ATen's operators that is recorded once for each size of its arguments, and replayed.

Note [Plan, program or graph]
A recording runs as many kernels as the graph does, mostly with less around them, but a kernel of PyTorch's may do
better in memory of its own than in a plan's. So while a recording is new its calls take turns: by the plan, by the
program (the recorded operators one by one), by the graph's Python code. The fastest stays. Where two are close, more
calls are measured. CPU time is compared where PyTorch has one thread, since other processes disturb it less.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any, Callable, Optional

import torch
from torch._inductor.output_code import OutputCode  # what AOTAutograd keeps on disk

from . import _C
from .graph_code import GraphCode
from .guard import MISSING, is_value
from .recorded_call import RecordedCall
from .refusal import Refused

_call, _MISSED = _C.call, _C.MISSED
_NO_KEYWORDS: dict = {}
_NEVER = 2**64 - 1
_MAX_RECORDINGS = 8  # of one graph: sizes
_MEASURED, _MEASURED_MOST = 3, 12  # calls of each kind before the fastest one is known
_CLOSE = 1.1
_MAX_BYTES = 1 << 30  # of arguments: recording copies them, and where so much is computed little is to be had around it

_graphs: "weakref.WeakSet[Graph]" = weakref.WeakSet()
_numbers = iter(range(1 << 62))


class _RecordedGraph(RecordedCall):
    """A call of a graph: what it depends on is its arguments and its own constants. History is AOTAutograd's
    business."""

    history = False

    def __init__(self, code: GraphCode, args: list, numerics: str):
        self.constants = [(f"graph.{name}", tensor) for name, tensor in code.constants.items()]
        super().__init__(lambda values: code.run(list(values)), (args,), {}, None, numerics=numerics)

    def _before(self, function: Callable, args: tuple, kwargs: dict, observed: None) -> None:
        arguments = _C.Arguments(args, kwargs, is_value)
        for path, _ in arguments.objects:
            raise Refused(f"{path} of the graph is neither a tensor nor a number")
        self.inputs = [*arguments.tensors, *self.constants]
        size = sum(t.untyped_storage().nbytes() for _, t in self.inputs if t.layout is torch.strided)
        if size > _MAX_BYTES:
            raise Refused(f"its arguments have {size >> 20} MiB, and little is gained where so much is computed")
        self.state = _C.StateGuards([], MISSING)
        self._save(arguments, [t for _, t in self.constants], [-1] * len(self.constants))

    def _run(self, function: Callable, args: tuple, kwargs: dict, observed: None) -> None:
        with self.recorder:
            self.result = function(*args, **kwargs)
        self.refusal = self.recorder.refusal

    def _find_survivors(self, results: Any) -> None:
        """There are none: a graph has no place to keep a tensor. (Views that it returns keep those that they were made
        from.)"""


class _Sizes:
    """What is known of calls with some sizes: a recording, and how long the ways to run it take."""

    def __init__(self, recording: Any):
        self.recording: Optional[Any] = recording  # None: the graph itself is faster
        self.is_decided = False
        self.times: dict[str, list[float]] = {way: [] for way in ("plan", "program",
                                                                  "graph") if way != "plan" or recording.has_plan}
        self._describe()

    def _describe(self) -> None:
        kinds = [kind for kind, _, _ in self.recording.describe()]
        self.steps = (f"{kinds.count('fused')} operators fused, {kinds.count('host')} of PyTorch's, "
                      f"{kinds.count('view')} views that need no call")

    def next_way(self) -> str:
        return min(self.times, key=lambda way: len(self.times[way]))

    def decide(self) -> None:
        """Keeps the fastest way, where it is known."""
        fewest = min(map(len, self.times.values()))
        ways = sorted(self.times, key=lambda way: min(self.times[way], default=0))
        if fewest < _MEASURED or (fewest < _MEASURED_MOST and min(self.times[ways[1]]) < _CLOSE * min(self.times[ways[0]])):
            return
        self.is_decided = True
        if ways[0] == "graph":
            self.recording = None
        elif ways[0] == "program" and self.recording.has_plan:
            self.recording.drop_plan()
            self._describe()
        if self.recording is not None:
            self.recording.by_program = False

    def explain(self) -> str:
        if self.recording is None:
            return f"{self.steps}; dropped, since the graph itself is faster"
        without = "" if self.recording.has_plan or "plan" not in self.times else "without a plan, which is slower; "
        return f"{self.steps}; {without}{self.recording.runs} replays" + ("" if self.is_decided else "; being measured")


class Graph(OutputCode):
    """A graph of AOTAutograd as it is called: with a list, which it empties. Any thread may call it.

    `kind`: "forward", "backward" or "inference". AOTAutogradCache keeps it by pickle: the code alone, recordings are
    made anew.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, code: GraphCode, kind: str, numerics: str = "exact", is_from_disk: bool = False):
        super().__init__()
        self._boxed_call = True  # of the object: Dynamo's wrappers take over no others
        self._graph, self._kind, self._numerics, self.is_from_disk = code, kind, numerics, is_from_disk
        self._number = next(_numbers)
        self.recordings: list = []  # those that are replayed without a look; others hold this list, too
        self.runtime = ""  # what AOTAutograd's own runtime is needed for
        self._known: dict[tuple, _Sizes] = {}  # by sizes
        self._seen: set[tuple] = set()  # sizes that were met once
        self._lock = threading.Lock()
        self.refusal: Optional[Refused] = None
        self.as_it_is = 0  # calls
        self._is_left_alone = False  # for good
        self.has_custom_operators = code.has_custom_operators
        self.name = kind
        if not is_from_disk:
            self._register()

    def _register(self) -> None:
        """Gives it Dynamo's number of the compilation, as its logs have it, and lists it."""
        compilation = torch._guards.CompileContext.current_compile_id()
        number = f"[{compilation}]" if compilation is not None else ""
        self.name = " ".join(part for part in (f"{self._kind} of", number, self._graph.where) if part)
        _graphs.add(self)

    # --- what AOTAutogradCache asks for ---

    def __reduce__(self) -> tuple:
        return Graph, (self._graph, self._kind, self._numerics, True)

    def __copy__(self) -> "Graph":
        return self  # the cache's copy, for pickling alone

    def prepare_for_serialization(self) -> None:
        from torch._functorch._aot_autograd.autograd_cache import BypassAOTAutogradCache

        if not self._graph.is_plain:
            raise BypassAOTAutogradCache("shunt_torch: a graph with graphs inside isn't kept")

    def post_compile(self, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        self._register()

    def set_triton_bundle(self, triton_bundle: Any) -> None:
        pass

    # --- calls ---

    def __call__(self, args: list) -> Any:
        # AOTAutograd keeps history outside of its graphs, in whatever mode it calls them.
        grad_mode = torch.is_grad_enabled()
        if grad_mode:
            torch._C._set_grad_enabled(False)
        try:
            out = _call(self.recordings, (args,), _NO_KEYWORDS)
            if out is _MISSED:
                out = self._missed(args)
        finally:
            if grad_mode:
                torch._C._set_grad_enabled(True)
        args.clear()
        return out

    def _missed(self, args: list) -> Any:
        if self.refusal is not None or self._is_left_alone or _C.surroundings_refusal() or not self._lock.acquire(blocking=False):
            self.as_it_is += 1
            return self._graph.run(args)
        try:
            sizes = _sizes(args)
            if sizes in self._known:
                return self._measured(sizes, args)
            # The first sizes are recorded at once, others where they come again: of those that never do, none is worth
            # it.
            if len(self._known) < _MAX_RECORDINGS and (not self._known or sizes in self._seen):
                return self._record(sizes, args)
            if len(self._seen) < 1000:
                self._seen.add(sizes)
        finally:
            self._lock.release()
        self.as_it_is += 1
        return self._graph.run(args)

    def _record(self, sizes: tuple, args: list) -> Any:
        call = _RecordedGraph(self._graph, args, self._numerics)
        if call.recording is None:
            self.refusal = call.refusal
        else:
            call.recording.check_at = _NEVER
            self._known[sizes] = _Sizes(call.recording)
        result, call.result = call.result, None
        return result

    def _measured(self, sizes: tuple, args: list) -> Any:
        """A call of sizes that are known, but whose recording isn't to be replayed, not yet without a look, or couldn't
        go on."""
        known = self._known[sizes]
        way = "graph" if known.is_decided else known.next_way()
        clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
        start = clock()
        out = _MISSED
        if way != "graph":
            known.recording.by_program = way == "program"
            out = _call([known.recording], (args,), _NO_KEYWORDS)
            way = way if out is not _MISSED else "graph"
        if out is _MISSED:
            self.as_it_is += 1
            start = clock()
            out = self._graph.run(args)
        if not known.is_decided:
            known.times[way].append(clock() - start)
            known.decide()
            if known.is_decided and known.recording is not None:
                self.recordings.append(known.recording)
            elif known.is_decided:
                self._is_left_alone = self._graph.is_static  # no other sizes come
        return out

    def explain(self) -> str:
        """For people: what is replayed, and why what isn't isn't."""
        known = list(self._known.values())
        runs = sum(k.recording.runs for k in known if k.recording is not None)
        source = ", from the cache on disk" if self.is_from_disk else ""
        lines = [f"{self.name}{source}: {len(known)} recordings, {runs} replays, {self.as_it_is} calls run as they are"]
        lines += [f"  recording {n + 1}: {k.explain()}" for n, k in enumerate(known)]
        if self.runtime:
            lines.append(f"  called by AOTAutograd's runtime: {self.runtime}")
        if self.refusal is not None:
            lines.append(f"  not recorded: {self.refusal}")
        elif not known:
            lines.append("  not called yet")
        return "\n".join(lines)


def graphs() -> list[Graph]:
    """All that are alive, in the order in which they were compiled."""
    return sorted(_graphs, key=lambda g: g._number)


def _sizes(args: list) -> tuple:
    return tuple(map(_size_of, args))


def _size_of(x: Any) -> Any:
    if isinstance(x, torch.Tensor) and x.layout is torch.strided:
        return x.shape, x.stride()
    return x if type(x) in (int, float, bool) else None
