"""What a recorder has to know of an operator, found once for each: PyTorch makes the objects of a schema and of tags
anew at every look."""

from __future__ import annotations

from typing import Any, Dict

import torch

from . import _C

# What they make has no elements yet.
_EMPTY = ("aten::empty", "aten::new_empty", "aten::_empty")
# These look at no elements of their tensors.
_UNREAD = ("aten::_unsafe_view", "aten::_reshape_alias", "aten::new_", "aten::resize_", "aten::set_")
# Operators to which it matters where in its storage a tensor begins.
_ABSOLUTE = ("aten::as_strided", "aten::as_strided_", "aten::as_strided_copy", "aten::as_strided_scatter", "aten::view",
             "aten::view_copy",
             "aten::view_as_complex", "aten::view_as_complex_copy", "aten::set_")
# Marks for profilers, without a meaning for what is computed.
_MARKS = ("profiler::",)


class OperatorFacts:
    def __init__(self, func: Any):
        schema, tags = func._schema, func.tags
        self.name, self.overload = schema.name, schema.overload_name
        self.full_name = f"{self.name}.{self.overload}".rstrip(".")
        self.is_mark = self.name.startswith(_MARKS)
        self.returns = len(schema.returns)
        # (position, name)
        self.writes = [(i, a.name)
                       for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        self.writes_in_training = _C.unannotated_writes(self.name)
        self.is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.reads_nothing = self.is_view or self.name.startswith(_UNREAD) or self.name.endswith("_like")
        self.makes_empty = self.name.startswith(_EMPTY)
        self.is_absolute = self.name in _ABSOLUTE and (self.overload == "dtype" or "view" not in self.name or "complex" in self.name)
        self.has_dynamic_shape = torch.Tag.dynamic_output_shape in tags
        self.changes_view = torch.Tag.inplace_view in tags
        self._is_seeded = torch.Tag.nondeterministic_seeded in tags
        self._dropout = next((i for i, a in enumerate(schema.arguments) if a.name == "dropout_p"), None)

    def draws(self, args: tuple, kwargs: dict) -> bool:
        """Whether it draws numbers. Attention is said to, but for a dropout of 0."""
        if not self._is_seeded or self._dropout is None:
            return self._is_seeded
        return kwargs.get("dropout_p", args[self._dropout] if self._dropout < len(args) else 0.0) != 0.0


_known: Dict[Any, OperatorFacts] = {}


def facts_of(func: Any) -> OperatorFacts:
    found = _known.get(func)
    if found is None:
        found = _known[func] = OperatorFacts(func)
    return found
