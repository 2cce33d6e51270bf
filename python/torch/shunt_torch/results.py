"""What a captured call returns: which tensors of it a replay makes, and which are inputs themselves."""

from __future__ import annotations

from typing import Any

import torch

from . import _C
from .guard import is_value
from .refusal import Refused
from .registered import Rebuilt, definition_of, left_out


class Holders:
    """Tensors that may hold memory after a call, each counted once a storage."""

    def __init__(self):
        self._by_id: dict[int, torch.Tensor] = {}

    def add(self, tensor: torch.Tensor) -> None:
        self._by_id.setdefault(id(tensor), tensor)
        if tensor._is_view() and tensor._base is not None:
            self._by_id.setdefault(id(tensor._base), tensor._base)

    def count(self, address: int) -> int:
        return sum(1 for t in self._by_id.values() if _C.Storage(t).address == address)


class Results:
    """`template`: for _C.Result; `made`: the tensors that a replay makes, `made_slots` their slots; `view_slots`: slots
    that it has to make as eager code does; `freed`: (position among made, node's name, message) of those whose graph is
    gone."""

    def __init__(self, result: Any, inputs: list[torch.Tensor], recorder: Any, containers: set[int]):
        self._inputs = {id(t): i for i, t in reversed(list(enumerate(inputs)))}
        self._recorder = recorder
        self._containers = containers  # by id: those that a result must not be, as a replay makes new ones
        self._inference = torch.is_inference_mode_enabled()
        self._by_id: dict[int, int] = {}
        self.made: list[torch.Tensor] = []
        self.made_slots: list[int] = []
        self.freed: list[tuple[int, str, str]] = []
        self.template = self._parse(result, "the result")
        self.view_slots = self._views()

    def holders(self) -> Holders:
        out = Holders()
        for tensor in self.made:
            out.add(tensor)
        return out

    def _parse(self, value: Any, path: str) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value, path)
        if type(value) in (dict, list) or isinstance(value, tuple) and not is_value(value):
            if id(value) in self._containers:
                raise Refused(f"{path} is a {type(value).__name__} that is elsewhere, too, and a replay makes new "
                              "ones: return a copy")
            self._containers.add(id(value))
        if type(value) is dict:
            if not all(map(is_value, value)):
                raise Refused(f"the keys of {path} have to be numbers, strings and the like, as a replay returns the "
                              "same ones")
            return {k: self._parse(v, f"{path}[{k!r}]") for k, v in value.items()}
        if type(value) is list:
            return [self._parse(v, f"{path}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, tuple) and not is_value(value):
            items = [self._parse(v, f"{path}[{i}]") for i, v in enumerate(value)]
            if type(value) is tuple:
                # A pair that begins with a str would read as a literal.
                return tuple(items)
            return self._named(value, items, path)
        if is_value(value):
            return ("literal", value)
        definition = definition_of(type(value))
        if definition is not None:
            return self._registered(value, definition, path)
        raise Refused(f"{path} is a {type(value).__name__}, and results have to be tensors, numbers, strings, None, "
                      "tuples, lists, dicts and objects of classes that torch.utils._pytree knows")

    def _registered(self, value: Any, definition: Any, path: str) -> Rebuilt:
        name = type(value).__name__
        if id(value) in self._containers:
            raise Refused(f"{path} is a {name} that is elsewhere, too, and a replay makes new ones: return a copy")
        self._containers.add(id(value))
        children, context = definition.flatten_fn(value)
        left = left_out(value, children, context, definition.unflatten_fn)
        if left:
            raise Refused(f"{path} is a {name}, and what torch.utils._pytree knows of its class leaves out {left}: "
                          "return its tensors")
        template = self._parse_context(context, f"{path}'s context")
        return Rebuilt(type(value), definition.unflatten_fn,
                       [self._parse(c, f"{path}[{i}]") for i, c in enumerate(children)], template)

    def _parse_context(self, context: Any, path: str) -> Any:
        """Of values alone; its lists and dicts are the class's own, and copied for each replay."""
        if type(context) in (list, dict) and id(context) in self._containers:
            raise Refused(f"{path} for torch.utils._pytree is a {type(context).__name__} that is elsewhere, too, and a "
                          "replay makes new ones")
        if type(context) is list:
            return [self._parse_context(c, path) for c in context]
        if type(context) is dict:
            return {k: self._parse_context(v, path) for k, v in context.items()}
        if type(context) is tuple and not is_value(context):
            return tuple([self._parse_context(c, path) for c in context])
        if is_value(context):
            return ("literal", context)
        raise Refused(f"{path} for torch.utils._pytree is a {type(context).__name__}, which counts by identity: return "
                      "its tensors")

    @staticmethod
    def _named(value: tuple, items: list, path: str) -> tuple:
        """A named tuple, or one of torch.return_types. Other classes may make something else of their elements."""
        kind = type(value)
        made = kind._make(items) if hasattr(kind,
                                            "_make") else kind(items) if kind.__module__ == "torch.return_types" else ()
        if type(made) is not kind or len(made) != len(items) or any(a is not b for a,
                                                                    b in zip(made, items)) or _C.has_attributes(value):
            raise Refused(f"{path} is a {kind.__name__}, of which tuples, named tuples and torch.return_types can be "
                          "results")
        return made

    def _tensor(self, tensor: torch.Tensor, path: str) -> int:
        if id(tensor) in self._inputs:
            return -1 - self._inputs[id(tensor)]
        if id(tensor) in self._by_id:
            return self._by_id[id(tensor)]
        self._recorder.refuse_unwritten(tensor)
        if tensor.is_inference() != self._inference:
            raise Refused(f"{path} is {'an' if tensor.is_inference() else 'no'} inference tensor: enter "
                          "inference_mode() around the call")
        slot = self._recorder.slot_of(tensor)
        from_outside = _C.key_of(tensor)[0] in self._recorder.outside
        if (slot < len(self._recorder.inputs) or slot in self.made_slots or (from_outside and not tensor._is_view())
                or self._recorder.grads.get(slot, id(tensor)) != id(tensor)):
            # Another object that shows its memory as an input or another result does; autograd may know it as a view,
            # or not.
            shown = slot
            operator = "aten::alias" if tensor._is_view() else "aten::detach"
            with torch.set_grad_enabled(torch.is_grad_enabled() and not (tensor.requires_grad and tensor.grad_fn is None)):
                slot = self._recorder.program.call(operator, "", (_C.Slot(shown),), {}, [[True]], "")[0]
            self._recorder.views[slot] = shown
        index = len(self.made)
        if tensor.requires_grad:
            self._graph(tensor, path, index)
        if tensor.is_leaf and (tensor.grad is not None or _C.hooks_of(tensor)):
            raise Refused(f"{path} is a tensor made in the call with a grad or hooks")
        self._by_id[id(tensor)] = index
        self.made.append(tensor)
        self.made_slots.append(slot)
        return index

    def _graph(self, tensor: torch.Tensor, path: str, index: int) -> None:
        if tensor.grad_fn is None:
            if tensor._is_view() and id(tensor._base) in self._inputs:
                return  # made under no_grad(), of a leaf that requires grad: a replay makes it so, too
            raise Refused(f"{path} is a leaf that was made in the call and requires grad")
        message = freed_message(tensor.grad_fn)
        if not message:
            raise Refused(f"{path} has a graph that backward() could still go through: detach() it, or call backward() "
                          "inside")
        self.freed.append((index, tensor.grad_fn.name(), message))

    def _views(self) -> list[int]:
        out = []
        for tensor, slot in zip(self.made, self.made_slots):
            while slot in self._recorder.views:  # views, and what detach() gives: versions are counted together
                out.append(slot)
                slot = self._recorder.views[slot]
        return out


def freed_message(node: Any) -> str:
    """What backward() through a graph says that was freed; empty where it could still reach a leaf."""
    seen, stack, message = set(), [node], ""
    while stack:
        n = stack.pop()
        if n is None or n in seen:
            continue
        seen.add(n)
        freed = _freed_message_of(n)
        if freed:
            message = message or freed
            continue
        if n.name() == "torch::autograd::AccumulateGrad":
            return ""
        stack += [f for f, _ in n.next_functions]
    return message


def _freed_message_of(node: Any) -> str:
    for name in dir(node):
        if not name.startswith("_saved_") and name != "saved_tensors":
            continue
        try:
            getattr(node, name)
        except RuntimeError as error:
            if "freed" in str(error):
                return str(error)
    return ""
