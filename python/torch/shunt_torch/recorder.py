"""Recorder: writes the operators of a call into a program, as _C.OperatorHook shows them.

Note [What a recorder must know]
Operators below autograd are seen here, those of backward() and of optimisers too. Tensors are told by their storage and
how they look at it, not by their Python objects: `x.data`, `detach()` and saved tensors are other objects over the same
memory. A storage that is neither an input's nor made by a recorded operator is refused, since a replay wouldn't know
where it comes from.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Iterator, Optional

import torch

from . import _C, higher_order, uncompiled
from .callers import from_distribution, from_optimizer
from .constants import PlainData
from .error_handlers import positions
from .library_state import users_kernels
from .operator_facts import OperatorFacts, facts_of
from .refusal import Refused, user_line
from .throwing import never_throws

_TOO_LATE = "after memory from outside was written or numbers were drawn: read it before that"
_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
_ADVICE = {
    "Adam": "pass fused=True", "AdamW": "pass fused=True", "Adagrad": "pass fused=True",
    # These are captured but for a tensor as learning rate.
    "SGD": "pass fused=True", "RMSprop": "pass lr as a number", "Adadelta": "pass lr as a number",
    "Muon": "pass lr as a number",
    "SparseAdam": "it isn't supported", "LBFGS": "it isn't supported",
}


class Recorder:
    """Records while it is entered. After a refusal the rest of the call runs as it would without it.

    `inputs`: the tensors that stand for the program's inputs, in order, with the path of each.
    """

    def __init__(self, program: "_C.Program", inputs: list[tuple[str, torch.Tensor]]):
        self.program, self.inputs = program, inputs
        self.plain_data = PlainData()
        self._hook: Any = None
        self.refusal: Optional[Refused] = None
        self.slots: dict[tuple, int] = {}  # by key
        self.bases: dict[int, int] = {}  # a slot on each storage
        self.outside: set[int] = set()  # storages of inputs
        self.absolute: set[int] = set()  # storages at which something looks by an offset that isn't a tensor's
        self.storage_inputs: dict[int, int] = {}  # the first input on each
        self.handles: list = []  # so that no address of a storage is used again while the call runs
        self.writes: dict[int, int] = {}  # by storage of an input: how often an operator wrote it
        # Something outside was written; numbers that are drawn are put back where a run ends early.
        self.touched = False
        # Operators that may throw, by the values they are given, after something outside was changed, and the stacks
        # that they have.
        self.failing: dict[tuple, str] = {}
        self.foreign = False  # an operator that isn't PyTorch's
        self.unwritten: set[int] = set()  # storages made by torch.empty and the like
        self.views: dict[int, int] = {}  # slots that are views, and what they are views of
        self.grads: dict[int, int] = {}  # slots that were assigned as a grad, and the object that it was
        self._dtypes: dict[int, torch.dtype] = {}
        for path, tensor in inputs:
            slot = program.add_input()
            key = _C.key_of(tensor)
            self.slots.setdefault(key, slot)
            if key[0] not in self.bases:
                self.bases[key[0]] = slot
                self.handles.append(_C.Storage(tensor))
            self.outside.add(key[0])
            self.storage_inputs.setdefault(key[0], slot)
        self.generator = torch.default_generator.get_state()
        self.had_others = other_threads()
        self.users_kernels = users_kernels()
        self.watch = _C.GradWatch([tensor for _, tensor in inputs])

    # --- what the hook calls ---

    def __enter__(self) -> "Recorder":
        uncompiled.begin()
        self.plain_data.__enter__()
        self._hook = _C.OperatorHook(self)
        before = torch._C._dispatch_tls_local_include_set()
        self._hook.enter()
        higher_order.hide(torch._C._dispatch_tls_local_include_set() - before)
        return self

    def __exit__(self, *error: Any) -> None:
        higher_order.show()
        self._hook.exit()
        self._hook = None  # it holds the recorder, which the garbage collector doesn't see
        self.plain_data.__exit__(*error)
        uncompiled.end()

    def before(self, func: Any, args: tuple, kwargs: dict) -> Optional[dict]:
        """Called before an operator runs; None where it needn't be recorded."""
        if self.refusal is not None:
            return None
        try:
            facts = facts_of(func)
            if facts.is_mark:
                return None
            self.poll_grads()
            if facts.name == "aten::lift_fresh" and self._keep_constant(args[0]):
                return None
            return self._prepare(func, facts, args, kwargs)
        except Exception as error:
            self.refusal = _refusal_of(error, func)
        return None

    def failed(self, call: dict) -> None:
        """Called where an operator threw. Matters where the function goes on: another call's values needn't throw."""
        self.refusal = self.refusal or Refused(f"{call['func']._schema.name} raises an error, which the function "
                                               "handles", call["where"])

    def after(self, call: dict, out: Any) -> None:
        try:
            self._record(call, out)
        except Exception as error:
            self.refusal = _refusal_of(error, call["func"])

    def refuses(self, name: str) -> None:
        """Called before an operator of which nothing is known but that it is made of others."""
        if self.refusal is None:
            self.refusal = Refused(f"{name} may read or write memory by no operator", user_line())

    def reads(self, name: str, tensor: torch.Tensor) -> None:
        """Called before an operator whose way depends on the elements of a tensor: other ones end a replay."""
        if self.refusal is not None:
            return
        try:
            if self._is_late():
                raise Refused(f"{name} reads the values of a tensor {_TOO_LATE}", user_line())
            self.poll_grads()
            same = (_C.Slot(self.slot_of(tensor)), tensor.detach().clone())
            self.program.call("aten::equal", "", same, {}, [[]], user_line())
            self.program.expect(True)
        except Exception as error:
            self.refusal = _refusal_of(error, name)

    def _keep_constant(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor was made from Python's numbers alone, which guards know; each replay gets a copy of it."""
        if not self.plain_data.is_read or _C.key_of(tensor) is None or _C.key_of(tensor)[0] in self.bases:
            return False
        slot = self.program.call("aten::clone", "", (tensor.detach().clone(),), {}, [[True]], user_line())[0]
        self._add(slot, tensor)
        return True

    def poll_grads(self) -> None:
        """Records grads that were assigned since the last look, which no operator shows."""
        for i, grad in self.watch.changes():
            if grad is None:
                self.program.assign_grad(i, None)
                continue
            if grad.requires_grad:
                raise Refused(f"the grad of {self.inputs[i][0]} has a graph (create_graph=True)", user_line())
            self.refuse_unwritten(grad)
            self.program.assign_grad(i, self._slot_of_grad(grad))

    def _slot_of_grad(self, grad: torch.Tensor) -> int:
        """That of the object: another one on the same memory is made by an operator of its own."""
        slot = self.slot_of(grad)
        if slot < len(self.inputs):
            same = next((i for i, (_, t) in enumerate(self.inputs) if t is grad), None)
            if same is not None:
                return same
        elif self.grads.setdefault(slot, id(grad)) == id(grad):
            return slot
        shown = slot
        slot = self.program.call("aten::detach", "", (_C.Slot(shown),), {}, [[True]], user_line())[0]
        self.views[slot] = shown
        self.grads[slot] = id(grad)
        return slot

    def touch(self) -> None:
        self.touched = True
        self.program.touch()

    # --- operators ---

    def _prepare(self, func: Any, facts: OperatorFacts, args: tuple, kwargs: dict) -> dict:
        if self.users_kernels and facts.full_name in self.users_kernels:
            raise Refused(f"a kernel for {facts.name} was registered from Python (torch.library), which a replay may "
                          "not call", user_line())
        if facts.has_dynamic_shape and not self._has_fixed_shape(facts.name, args):
            raise Refused(f"the size of {facts.name}'s result depends on values", user_line())
        if any(isinstance(value, torch.Generator) for value in (*args, *kwargs.values())):
            raise Refused(f"{facts.name} draws from a generator of its own", user_line())
        written = []
        for i, name in facts.writes:
            value = args[i] if i < len(args) else kwargs.get(name)
            written += value if isinstance(value, (list, tuple)) else [value]
        for i in facts.writes_in_training:
            if args[5] and args[i] is not None:
                written.append(args[i])
        written = [t for t in written if isinstance(t, torch.Tensor)]
        if self.unwritten and not facts.reads_nothing:
            for tensor in _tensors((args, tuple(kwargs.values()))):
                if not any(tensor is t for t in written):
                    self.refuse_unwritten(tensor)
        template = tuple(self._template(a) for a in args), {k: self._template(v) for k, v in kwargs.items()}
        before = [_C.key_of(t) for t in written]
        if facts.is_absolute:
            self.absolute |= {_C.key_of(a)[0] for a in args if isinstance(a, torch.Tensor)}
        from_outside = any(k[0] in self.outside for k in before)
        if facts.changes_view and from_outside:
            raise Refused(f"{facts.name} changes sizes or strides of memory from outside", user_line())
        where = user_line()
        if from_outside:
            self.touch()
        draws = facts.draws(args, kwargs)
        if draws:
            self.program.draw()
        if self.touched and not never_throws(func._schema, args, kwargs):
            self.failing.setdefault(positions(sys._getframe()), f"{facts.name} ({where})")
        self.foreign |= func.namespace not in ("aten", "prims")
        return {"func": func, "facts": facts, "template": template, "written": written, "before": before,
                "where": where, "draws": draws}

    def refuse_unwritten(self, tensor: torch.Tensor) -> None:
        key = _C.key_of(tensor)
        if key is not None and key[0] in self.unwritten and tensor.numel() != 0:
            raise Refused("memory is read that was made by torch.empty or the like, and that no operator has written "
                          "since", user_line())

    @staticmethod
    def _has_fixed_shape(name: str, args: tuple) -> bool:
        """Indices that are no masks give results of the same size each time; so do weights of the bins that are
        given."""
        if name == "aten::_ctc_loss":
            return not isinstance(args[2], torch.Tensor)  # lengths are numbers, compared where they were read
        if name not in ("aten::index", "aten::_unsafe_index"):
            return False
        return not any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in args[1])

    def _template(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _C.Slot(self.slot_of(value))
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            return [self._template(v) for v in value]
        return value

    def slot_of(self, tensor: torch.Tensor) -> int:
        """The slot of what a tensor shows; where it shows a known storage in a new way, that of a view of it."""
        key = _C.key_of(tensor)
        slot = self.slots.get(key)
        if slot is not None and type(tensor) in _PLAIN:  # nothing else can show the memory of what was looked at before
            return slot
        refuse_unusable("a tensor that is used", tensor, user_line)
        base = self.bases.get(key[0])
        if base is None:
            raise Refused(
                "a tensor is used that is no argument, wasn't found in the function's variables, and wasn't made by an "
                "operator of the call (torch.tensor, as_tensor, from_numpy make such ones; so do other threads): pass "
                "it as an argument", user_line())
        if tensor.is_conj() or tensor.is_neg() or tensor.dtype != self._dtype_of(base):
            raise Refused("memory is used as another dtype by other means than an operator", user_line())
        self.absolute.add(key[0])
        slot = self.program.call("aten::as_strided", "", (_C.Slot(base), list(key[3]), list(key[4]), key[2]), {},
                                 [[True]], user_line())[0]
        self.slots[key] = slot
        self.views[slot] = base
        self._dtypes[slot] = tensor.dtype
        return slot

    def _dtype_of(self, slot: int) -> torch.dtype:
        if slot < len(self.inputs):
            return self.inputs[slot][1].dtype
        return self._dtypes[slot]

    def _record(self, call: dict, out: Any) -> None:
        facts = call["facts"]
        self._note_writes(call)
        if call["draws"]:
            self.generator = torch.default_generator.get_state()
        outs = [out] if facts.returns == 1 else list(out) if isinstance(out, (list, tuple)) else []
        defined, tensors, read = [], [], None
        for value in outs:
            if isinstance(value, torch.Tensor):
                defined.append([True])
                tensors.append(value)
            elif value is None:
                defined.append([False])
            elif isinstance(value, (list, tuple)) and all(v is None or isinstance(v, torch.Tensor) for v in value):
                defined.append([v is not None for v in value])
                tensors += [v for v in value if v is not None]
            else:
                defined.append([])
                read = value
        if facts.changes_view:
            return self._changed_in_place(facts.name, call, tensors)
        slots = self.program.call(facts.name, facts.overload, *call["template"], defined, call["where"])
        if read is not None:
            self._read(facts.name, read)
        sources = [self._source(a) for a in call["template"][0][:1]]
        for slot, tensor in zip([s for s in slots if s >= 0], tensors):
            if facts.is_view and _C.key_of(tensor) in self.slots:
                continue  # shows what another slot does, of which autograd may know more: detach() has no base
            self._add(slot, tensor)
            if facts.makes_empty and not _fills_memory():
                self.unwritten.add(_C.key_of(tensor)[0])
            if facts.is_view and sources and sources[0] is not None:
                self.views[slot] = sources[0]

    @staticmethod
    def _source(template: Any) -> Optional[int]:
        return template.index if isinstance(template, _C.Slot) else None

    def _add(self, slot: int, tensor: torch.Tensor) -> None:
        refuse_unusable("a result", tensor, user_line)
        key = _C.key_of(tensor)
        if key[0] not in self.bases:
            self.bases[key[0]] = slot
            self.handles.append(_C.Storage(tensor))
        self.slots[key] = slot
        self._dtypes[slot] = tensor.dtype

    def _note_writes(self, call: dict) -> None:
        for tensor, before in zip(call["written"], call["before"]):
            storage = before[0]
            self.unwritten.discard(storage)
            if storage in self.outside:
                self.writes[storage] = self.writes.get(storage, 0) + 1
                self.program.wrote(self.storage_inputs[storage])
            after = _C.key_of(tensor)
            if after != before:
                # An out= argument that was given its size. What looked at it before looks at it no longer.
                if storage in self.outside:
                    raise Refused(f"{call['func']} gives another size to memory from outside", user_line())
                self.slots.pop(before, None)

    def _changed_in_place(self, name: str, call: dict, tensors: list) -> None:
        """unsqueeze_() and the like: nothing is computed, the tensor looks at its memory in another way."""
        for before, tensor in zip(call["before"], call["written"]):
            after = _C.key_of(tensor)
            if after[0] != before[0] or name in ("aten::resize_", "aten::set_", "aten::resize_as_"):
                raise Refused(f"{name} gives a tensor other memory", user_line())
            self.slot_of(tensor)

    def _is_late(self) -> bool:
        """Whether memory from outside was written or numbers were drawn: then a run can't be left any more."""
        return self.touched or not (self.had_others or other_threads() or torch.equal(torch.default_generator.get_state(), self.generator))

    def _read(self, name: str, value: Any) -> None:
        optimizer = from_optimizer()
        what = f"{name} gives Python the value {value!r}"
        if optimizer:
            advice = _ADVICE.get(optimizer, "use SGD, RMSprop, Adadelta, Rprop, Muon, or Adam, AdamW or Adagrad with "
                                            "fused=True")
            raise Refused(f"{optimizer} reads a tensor's value ({what}): {advice}", user_line())
        if not isinstance(value, bool):
            raise Refused(f"{what}, and a replay would freeze it: keep it in a tensor", user_line())
        if self._is_late():
            advice = ", or pass validate_args=False to the distribution" if from_distribution() else ""
            raise Refused(f"{what} {_TOO_LATE}{advice}", user_line())
        self.program.expect(value)


def other_threads() -> bool:
    """Whether there are other threads of Python's, which may draw from PyTorch's generator."""
    return threading.active_count() > 1


def refuse_unusable(what: str, tensor: torch.Tensor, where: Callable[[], str] = str) -> None:
    """Raises Refused for tensors of which no operator below autograd sees all."""
    if type(tensor) not in _PLAIN:
        raise Refused(f"{what} is a {type(tensor).__name__}, and subclasses of Tensor can't be captured", where())
    if tensor.device.type != "cpu":
        raise Refused(f"{what} is on {tensor.device}, and only tensors of the CPU can be captured", where())
    if tensor._is_zerotensor():
        raise Refused(f"{what} is a tensor of zeros without memory (torch._efficientzerotensor)", where())
    if _C.key_of(tensor) is None:
        raise Refused(f"{what} has layout {tensor.layout}, and only strided tensors can be captured", where())


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor can be an input: in the CPU's memory, strided, and of no subclass."""
    return type(tensor) in _PLAIN and tensor.device.type == "cpu" and _C.key_of(tensor) is not None


def _refusal_of(error: Exception, func: Any) -> Refused:
    # An error of ours must not be one of the user's call, which goes on. Its traceback would keep alive the frames of
    # that call, and what in them waits for its end, as guards of dispatch keys do.
    if not isinstance(error, Refused):
        return Refused(f"{func} can't be recorded ({type(error).__name__}: {error})", user_line())
    error.__context__ = None
    return error.with_traceback(None)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)


def _fills_memory() -> bool:
    return torch.are_deterministic_algorithms_enabled() and torch.utils.deterministic.fill_uninitialized_memory
