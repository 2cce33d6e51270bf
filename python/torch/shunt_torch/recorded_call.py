"""One recorded call: what is saved before it, what is compared after it, and the recording that comes of it."""

from __future__ import annotations

import enum
import gc
from typing import Any, Callable

import torch

from . import _C
from .comparison import difference
from .error_handlers import are_handled
from .guard import MISSING, Guard, is_value, mismatch
from .kept_values import Guarded
from .library_state import guards, hooks_of, outside_autocast
from .observe import Observed
from .recorder import Recorder, is_plain, other_threads, refuse_unusable
from .refusal import Refused, shortened
from .registered import definition_of
from .results import Results
from .walk import Walk, walk


class RecordedCall:
    """Records `function(*args, **kwargs)`; `result` and, where it could be captured, `recording` are there afterwards.

    The call is a real one: its effects stand. Raises what the function raises. `refusal` says why there is no
    recording.
    """

    numerics = "exact"
    history = True  # whether grads, hooks and leaves matter

    def __init__(self, function: Callable, args: tuple, kwargs: dict, observed: Observed, hooks: str = "refuse",
                 numerics: str = "exact"):
        self.result: Any = None
        self.recording = self.refusal = None
        self.walked = None
        self.inputs: list[tuple[str, torch.Tensor]] = []
        self.hooks, self.numerics = hooks, numerics
        # What a recorder notes sets off collections of garbage, which need not look through all that is there already.
        freezes = gc.get_freeze_count() == 0
        if freezes:
            gc.freeze()
        try:
            self._record(function, args, kwargs, observed)
        finally:
            if freezes:
                gc.unfreeze()
        if self.refusal is not None:
            self.recording = None
        self.paths = [path for path, _ in self.inputs]
        # Memory. Tensors of the arguments are this call's alone.
        if self.recording is not None:
            self.arguments.forget_tensors()
        self.inputs, self.arguments = [], None
        self.copies = self.handles = self.recorder = self.appearances = None

    def _record(self, function: Callable, args: tuple, kwargs: dict, observed: Observed) -> None:
        try:
            self._before(function, args, kwargs, observed)
        except Exception as error:
            self.refusal = _refusal_of(error)
            self.result = function(*args, **kwargs)
            return
        self._run(function, args, kwargs, observed)
        if self.refusal is None:
            try:
                self._after(args, kwargs, observed)
            except Exception as error:
                self.refusal = _refusal_of(error)

    # --- before the call ---

    def _before(self, function: Callable, args: tuple, kwargs: dict, observed: Observed) -> None:
        reason = _C.surroundings_refusal() or outside_autocast()
        if reason:
            raise Refused(reason)
        torch.clear_autocast_cache()
        arguments = _C.Arguments(args, kwargs, is_value)
        for path, tensor in arguments.tensors:
            _refuse_argument(path, tensor)
        _refuse_keys(args, kwargs)
        classes = _classes(args, kwargs)
        self.walked = walked = self._walk([("", function), *arguments.objects, *classes], arguments.tensors, observed)
        # A tensor may be in several places, of which a later call may find others in some: each is an input.
        self.inputs = list(arguments.tensors)
        captured, grad_of = [], []
        for path, tensor in walked.tensors:
            # What isn't in the CPU's memory can't be used; where the call does, the recorder says so.
            if is_plain(tensor):
                self.inputs.append((path, tensor))
                captured.append(tensor)
                grad_of.append(-1)
        owners = [i for i, (_, t) in enumerate(self.inputs) if _C.grad_of(t) is not None]
        for i in owners:
            path, tensor = self.inputs[i]
            refuse_unusable(f"{path}.grad", tensor.grad)
            self.inputs.append((f"{path}.grad", tensor.grad))
            captured.append(tensor.grad)
            grad_of.append(i)
        for path, tensor in self.inputs:
            if tensor.grad_fn is not None and torch.is_grad_enabled():
                raise Refused(f"{path} has a grad_fn, so backward() would go on outside of the call: detach() it")
            if _C.has_tangent(tensor):
                raise Refused(f"{path} has a tangent of forward AD, which isn't recorded")
        self.state = _C.StateGuards([tuple(g) for g in walked.guards], MISSING)
        failed = self.state.first_failed()
        if failed >= 0:
            raise Refused(f"{walked.guards[failed].path} changes while it is looked at")
        self._save(arguments, captured, grad_of)

    def _save(self, arguments: Any, captured: list, grad_of: list) -> None:
        self.arguments = arguments
        for path, tensor in self.inputs:
            if not is_plain(tensor):
                raise Refused(f"{path} is {_described(tensor)}, and only strided tensors of PyTorch's own classes can "
                              "be captured")
        self.recording = _C.Recording(arguments, self.state, captured, grad_of)
        tensors = [t for _, t in self.inputs]
        if not self.recording.look(tensors, self.history):
            raise Refused("the memory of two inputs overlaps in storages that PyTorch takes for different ones, as "
                          "from_numpy() makes them: "
                          "make them views of one tensor")
        self.recorder = Recorder(self.recording.program, self.inputs)
        self.copies = _C.copy_inputs(tensors)
        self.handles = {h.address: h for h in map(_C.Storage, tensors)}
        self.uses = {address: h.uses for address, h in self.handles.items()}
        self.versions = [0 if t.is_inference() else t._version for t in tensors]
        self.appearances = [_appearance(t) for t in tensors]
        self.generator = torch.default_generator.get_state()

    def _walk(self, roots: list, arguments: list, observed: Observed) -> Walk:
        """The walk of what the call can read. Where hooks are recorded, they are walked, too."""
        walked = walk(roots, observed)
        for refused in (*observed.refusals, *walked.refusals):
            raise Refused(refused.reason, refused.path)
        hooked = [(path, t) for path, t in (*arguments, *walked.tensors) if _C.hooks_of(t)]
        owners = {id(g.owner): g for g in walked.guards if isinstance(g.owner,
                                                                      (torch.nn.Module, torch.optim.Optimizer))}
        of_modules = [f"{g.path.removesuffix('.__class__').removesuffix('.__dict__')}.{name}" for g in owners.values()
                      for name, _ in hooks_of(g.owner)]
        if self.hooks != "record" and (hooked or of_modules):
            where = f"{hooked[0][0]} has hooks" if hooked else f"there are hooks in {of_modules[0]}"
            raise Refused(f"{where}, which a replay doesn't call (hooks=\"record\" records what they do)")
        more = [(path, t, name, dict_) for path, t in hooked for name in ("_backward_hooks",
                                                                          "_post_accumulate_grad_hooks")
                if (dict_ := getattr(t, name)) is not None]
        if hooked and len(more) < len(hooked):
            raise Refused(f"{hooked[0][0]} has hooks that aren't in a dict of its own, and can't be told from others")
        if more:
            walked = walk([*roots, *((f"{path}.{name}", hooks) for path, _, name, hooks in more)], observed)
            for refused in walked.refusals:
                raise Refused(refused.reason, refused.path)
        walked.guards.extend(Guard("attribute", t, name, hooks, False, f"{path}.{name}") for path, t, name,
                             hooks in more)
        walked.guards.extend(guards(observed.summary.library_called))
        return walked

    # --- the call ---

    def _run(self, function: Callable, args: tuple, kwargs: dict, observed: Observed) -> None:
        extent, refusals = observed.extent, len(observed.refusals)
        try:
            with observed.watching(), Guarded(self.recorder), self.recorder:
                self.result = function(*args, **kwargs)
        finally:
            torch.clear_autocast_cache()
        self.refusal = self.recorder.refusal
        if self.refusal is None and len(observed.refusals) > refusals:
            refused = observed.refusals[refusals]
            self.refusal = Refused(refused.reason, refused.path)
        elif self.refusal is None and observed.extent != extent:
            self.refusal = Refused("functions were called that earlier calls hadn't called", retry=True)

    # --- after the call ---

    def _after(self, args: tuple, kwargs: dict, observed: Observed) -> None:
        recorder, program = self.recorder, self.recording.program
        recorder.poll_grads()
        self._compare_state()
        changed = self.recording.changed_surroundings()
        if changed and self.history:
            raise Refused(f"the call changes a mode or setting of PyTorch's, which a replay wouldn't: {changed}")
        self._compare_inputs(args, kwargs)
        failing = [what
                   for stack, what in recorder.failing.items() if observed is not None and are_handled(stack, observed)]
        if failing:
            raise Refused(f"{failing[0]} may raise an error after something outside was changed, and the function "
                          "handles errors: let them pass, or change things later")
        results = Results(self.result, [t for _, t in self.inputs], recorder, self._containers(args, kwargs))
        versions = self._versions_grown()
        self._find_survivors(results)
        for slot in results.made_slots:
            program.add_output(slot)
        program.finish(results.view_slots)
        self.recording.set_versions(versions)
        self.versions_grown = versions
        self.recording.set_result(_C.Result(results.template))
        for output, name, message in results.freed:
            self.recording.add_freed_graph(output, name, message)
        self._allow_offsets(results)
        self.template, self.foreign = results.template, recorder.foreign
        self._compare_replay(results)

    def _allow_offsets(self, results: Results) -> None:
        """Of arguments at which nothing looks but from where they begin, alone on their storages or among others that
        are read alone."""
        storages = [_C.key_of(t)[0] for _, t in self.inputs]
        absolute = self.recorder.absolute | {_C.key_of(t)[0] for t in results.made}
        for i in range(len(self.arguments.tensors)):
            is_shared = storages.count(storages[i]) > 1
            if storages[i] not in absolute and not (is_shared and storages[i] in self.recorder.writes):
                self.recording.allow_offset(i, is_shared)
        for i, storage in enumerate(storages):
            if storage in self.recorder.absolute:  # a view by as_strided() may go beyond the tensor
                self.recording.need_storage(i)

    def _compare_state(self) -> None:
        failed = self.state.first_failed()
        if failed < 0:
            return
        guard = self.walked.guards[failed]
        values = mismatch(guard)
        change = _change(guard.kind, *values) if values else ""
        raise Refused(f"the call changes {guard.path}{change}, which a replay wouldn't", retry=True)

    def _compare_inputs(self, args: tuple, kwargs: dict) -> None:
        """Refuses changes that no operator shows: of containers among the arguments, and of what tensors are."""
        now = _C.Arguments(args, kwargs, is_value)
        paths = {path for path, _ in now.tensors}
        changed = self.arguments.difference(args, kwargs)
        for (path, before), (_, after) in zip(self.arguments.tensors, now.tensors):
            changed = changed or ("" if before is after else f"{path} is another tensor")
        if changed:
            raise Refused(f"the call changes its arguments, which a replay wouldn't: {changed}")
        for (path, tensor), before in zip(self.inputs, self.appearances):
            if self.history and path in paths:
                _refuse_argument(path, tensor)
            what = next((name for name, a, b in zip(_APPEARANCE, before, _appearance(tensor)) if a is not b and a != b),
                        None)
            if what:
                raise Refused(f"the call changes {what} of {path}, which a replay wouldn't: change it before the call")

    def _containers(self, args: tuple, kwargs: dict) -> set[int]:
        """The lists, dicts, tuples and others of classes that torch.utils._pytree knows which are there before the
        call, by id."""
        guards = self.walked.guards if self.walked is not None else ()
        found = {id(x) for g in guards for x in (g.owner, g.expected) if _is_container(x)}
        todo = [*args, *kwargs.values()]
        while todo:
            value = todo.pop()
            if _is_container(value):
                found.add(id(value))
            if isinstance(value, (list, tuple, dict)):
                todo += value.values() if isinstance(value, dict) else value
        return found

    def _versions_grown(self) -> list[int]:
        out = []
        for (path, tensor), before in zip(self.inputs, self.versions):
            grown = 0 if tensor.is_inference() else tensor._version - before
            if grown > self.recorder.writes.get(_C.key_of(tensor)[0], 0):
                raise Refused(f"{path} was written by something that is no operator of the call")
            out.append(grown)
        return out

    def _find_survivors(self, results: Results) -> None:
        """Refuses memory made by the call that outlives it elsewhere than in its result and in grads."""
        explained = results.holders()
        known = {id(t) for _, t in self.inputs}
        for _, tensor in self.inputs:
            grad = _C.grad_of(tensor)
            if grad is not None and id(grad) not in known:
                explained.add(grad)
        for last in (False, True):
            left = [h for h in self.recorder.handles if h.uses > self._expected_uses(h, explained)]
            if not left:
                return
            if not last:
                gc.collect()
        raise Refused("a tensor that the call made, or a view of one from outside, outlives it in a place that can't "
                      "be named: return it, and detach() results whose graph holds it")

    def _expected_uses(self, handle: Any, explained: Any) -> int:
        # The handles themselves: the recorder's, and of an input's storage one more.
        before = self.uses.get(handle.address)
        if before is not None:
            return before + 1 + explained.count(handle.address)
        return 1 + explained.count(handle.address)

    def _compare_replay(self, results: Results) -> None:
        """Replays on copies of the state before the call: by the program, whose difference refuses, then by the
        plan."""
        again, for_plan = _C.copy_inputs(self.copies), _C.copy_inputs(self.copies)
        what = self._difference(results, self.copies, plain=True)
        if what:
            raise Refused(f"a replay of the operators gives other values than the function: {what}")
        is_fast = self.numerics == "fast"
        self.no_plan = self._on_generator(lambda: self.recording.make_plan(again, is_fast))
        if not self.no_plan:
            self.no_plan = (self._on_generator(lambda: self.recording.check_operators(for_plan)) if is_fast
                            else self._difference(results, for_plan, plain=False))
            if self.no_plan:
                self.recording.drop_plan()

    def _difference(self, results: Results, copies: list, plain: bool) -> str:
        after = torch.default_generator.get_state()
        (complete, *replayed), drawn = self._on_generator(
            lambda: (self.recording.replay(copies, plain), torch.default_generator.get_state()))
        if not complete:
            return "a value that was read is another one"
        # A call that draws nothing leaves the generator alone, and so does its replay, but other threads need not.
        draws = self.recording.program.draws
        others = self.recorder.had_others or other_threads()
        changed = not torch.equal(drawn if draws else self.generator, after) and (draws or not others)
        if changed and others:
            raise Refused("another thread drew random numbers from PyTorch's generator while the call was "
                          "recorded", retry=True)
        return difference(replayed, results.made, copies, self.inputs) or ("the generator's state" if changed else "")

    def _on_generator(self, run: Callable) -> Any:
        """Runs with the generator's state of before the call, and puts back that of after it."""
        if not self.recording.program.draws:
            return run()
        after = torch.default_generator.get_state()
        torch.default_generator.set_state(self.generator)
        try:
            return run()
        finally:
            torch.default_generator.set_state(after)


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, dict, tuple)) or definition_of(type(value)) is not None


def _classes(args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """Members of enums among the arguments, which count by value, and classes of named tuples, which are taken apart:
    code reads their attributes."""
    found: dict[int, tuple[str, Any]] = {}
    todo: list = [args, kwargs]
    while todo:
        value = todo.pop()
        if isinstance(value, (tuple, list, dict)):
            todo += [*value, *value.values()] if isinstance(value, dict) else value
        if isinstance(value, tuple) and _C.has_attributes(value):
            raise Refused(f"a {type(value).__qualname__} among the arguments has attributes, which another call's need "
                          "not have")
        if isinstance(value, slice):
            todo += [value.start, value.stop, value.step]
        if isinstance(value, enum.Enum):
            found.setdefault(id(value), (repr(value), value))
        elif isinstance(value, tuple) and type(value) is not tuple:
            found.setdefault(id(type(value)), (type(value).__qualname__, type(value)))
    return list(found.values())


def _refusal_of(error: Exception) -> Refused:
    # An error of ours must not be one of the user's call. Its traceback would keep alive all that was looked at.
    return error.with_traceback(None) if isinstance(error, Refused) else Refused(
        f"it can't be recorded ({type(error).__name__}: {error})")


_APPEARANCE = ("the memory, sizes or strides", "the type", "requires_grad", "the graph", "retains_grad", "the hooks",
               "the grad_dtype")


def _appearance(t: torch.Tensor) -> tuple:
    """What of a tensor besides elements and grad a call may change without an operator, see _APPEARANCE."""
    return _C.key_of(t), type(t), t.requires_grad, t.grad_fn, t.retains_grad, _C.hooks_of(t), t.grad_dtype if t.is_leaf else None


def _described(tensor: torch.Tensor) -> str:
    return f"a {tensor.layout} tensor" if tensor.layout != torch.strided else f"a {type(tensor).__name__}, a subclass of Tensor"


def _refuse_argument(path: str, tensor: torch.Tensor) -> None:
    refuse_unusable(path, tensor)
    if _C.has_attributes(tensor):
        raise Refused(f"{path} has attributes, {', '.join(vars(tensor))}, which another call's tensor need not have: "
                      "pass them apart")


def _change(kind: str, before: Any, after: Any) -> str:
    if kind == "keys" and type(before) is type(after) is tuple:
        gone, new = ([k for k in a if not any(k is x or _C.same_value(k, x) for x in b)]
                     for a, b in ((before, after), (after, before)))
        return "".join(f", {what} {_short(keys[0])}" + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")
                       for what, keys in (("adds", new), ("removes", gone)) if keys)
    return f" from {_short(before)} to {_short(after)}"


def _refuse_keys(args: tuple, kwargs: dict) -> None:
    todo = [*args, *kwargs.values()]
    while todo:
        value = todo.pop()
        if type(value) is dict:
            if not all(map(is_value, value)):
                raise Refused("the keys of dicts among the arguments have to be numbers, strings and the like")
            todo += value.values()
        elif isinstance(value, tuple) or type(value) is list:
            todo += value


def _short(value: Any) -> str:
    return "nothing" if value is MISSING else shortened(value)
