"""explain(): what a captured function does, for people."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any


def explain(captured: Any = None) -> str:
    """What a captured function does; without an argument, what each graph does that torch.compile(backend="shunt") has
    compiled."""
    if captured is not None:
        return captured.explain()
    graph = sys.modules.get("shunt_torch.graph")  # there since the first is compiled
    graphs = graph.graphs() if graph is not None else []
    return "\n".join(g.explain() for g in graphs) or "nothing is compiled by torch.compile(backend=\"shunt\")"


def explain_captured(captured: Any) -> str:
    lines = [f"{captured._name}: {len(captured._recordings)} recordings, {sum(r.runs for r in captured._recordings)} "
             f"replays, {captured._eager} calls run as they are"]
    for n, recording in enumerate(captured._recordings):
        call = captured._facts[id(recording)]
        steps = recording.describe()
        kinds = Counter(kind for kind, _, _ in steps)
        lines.append(f"recording {n + 1}: {kinds['fused']} operators fused, {kinds['host']} of PyTorch's, "
                     f"{kinds['view']} views that need no call, "
                     f"{kinds['assign']} assignments of grads, "
                     f"{len(call.paths)} inputs, {len(call.walked.guards)} guards; {recording.runs} replays, "
                     f"{recording.abandoned} abandoned by a value that was read")
        if call.no_plan:
            lines.append(f"  without a plan: {call.no_plan}")
        counts = Counter(name for kind, name, _ in steps if kind == "host")
        lines += [f"  {count} x {name}" for name, count in counts.most_common()]
    if captured._misses:
        lines.append("guards that failed last:")
        lines += [f"  {miss}" for miss in captured._misses]
    if captured._given_up:
        lines.append(f"not captured: {captured._given_up}")
    elif captured._refusal is not None:
        lines.append(f"the last recording was refused: {captured._refusal}")
    elif not captured._recordings:
        lines.append("not recorded yet: the first two calls run as they are")
    return "\n".join(lines)
