"""GraphCode: the Python code of a graph of AOTAutograd's, which can be called, and kept on disk."""

from __future__ import annotations

import os
import re
import types
from typing import Any

import torch

FORMAT = 1  # of what is kept: another one is no hit


class GraphCode:
    """`run(args)`: the results, by ATen; it empties the list, so that what comes to its last use lends its memory to
    what follows.

    `constants`: its tensors by name. `where`: the user's line that it begins with. `has_custom_operators`: whether some
    aren't PyTorch's. `is_static`: whether it is for sizes that never change. `is_plain`: whether it can be kept on
    disk.
    """

    def __init__(self, graph: torch.fx.GraphModule):
        names = [n.target for n in graph.graph.find_nodes(op="get_attr")]
        attributes = {name: getattr(graph, name, None) for name in names}
        self.constants = {name: value for name, value in attributes.items() if isinstance(value, torch.Tensor)}
        self.is_plain = len(self.constants) == len(attributes) and not any(n.op == "call_module" for n in graph.graph.nodes)
        self.has_custom_operators = any(n.op == "call_function" and not _is_pytorchs(n.target) for n in graph.graph.nodes)
        self.is_static = all(isinstance(n.meta.get("val"),
                                        torch.Tensor) and not n.meta["val"]._has_symbolic_sizes_strides
                             for n in graph.graph.find_nodes(op="placeholder"))
        found = (re.findall(r'File "([^"]*)", line (\d+)', n.stack_trace or "") for n in graph.graph.nodes)
        self.where = next((f"{os.path.basename(lines[0][0])}:{lines[0][1]}" for lines in found if lines), "")
        graph.graph.set_codegen(torch.fx.graph._BoxedCodeGen())
        graph.recompile()
        self._graph = graph
        self.run = graph.forward

    def __getstate__(self) -> dict:
        imports = self._graph.__reduce__()[1][1] if self._graph is not None else self._source[0]
        code = self._graph.code if self._graph is not None else self._source[1]
        return {"source": (imports, code), "constants": self.constants,
                "has_custom_operators": self.has_custom_operators,
                "is_static": self.is_static, "where": self.where}

    def __setstate__(self, state: dict) -> None:
        self._graph, self.is_plain = None, True
        self._source, self.constants = state["source"], state["constants"]
        self.has_custom_operators, self.is_static, self.where = state["has_custom_operators"], state["is_static"], state["where"]
        names: dict[str, Any] = {}
        exec(compile("\n".join(self._source), f"<graph of {self.where or 'torch.compile'}>", "exec"), names)
        self.run = types.MethodType(names["forward"], types.SimpleNamespace(**self.constants))


def _is_pytorchs(operator: Any) -> bool:
    if isinstance(operator, torch._ops.OpOverload):
        return operator.namespace in ("aten", "prims")
    return isinstance(operator, types.BuiltinFunctionType)
