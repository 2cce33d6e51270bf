"""One recorded call: what is saved before it, what is compared after it, and the recording that comes of it."""

from __future__ import annotations

import gc
from typing import Any, Callable

import torch

from . import _C
from .comparison import difference
from .guard import MISSING, is_value, mismatch
from .kept_values import Guarded
from .observe import Observed
from .recorder import Recorder, refuse_unusable
from .refusal import Refused
from .results import Results
from .walk import walk


class RecordedCall:
    """Records `function(*args, **kwargs)`; `result` and, where it could be captured, `recording` are there afterwards.

    The call is a real one: its effects stand. Raises what the function raises. `refusal` says why there is no recording.
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
        try:
            self._before(function, args, kwargs, observed)
        except Refused as refusal:
            self.refusal = refusal
            self.result = function(*args, **kwargs)
            return
        self._run(function, args, kwargs, observed)
        if self.refusal is None:
            try:
                self._after(observed)
            except Refused as refusal:
                self.refusal = refusal
        if self.refusal is not None:
            self.recording = None
        self.copies = self.handles = self.recorder = None  # memory

    # --- before the call ---

    def _before(self, function: Callable, args: tuple, kwargs: dict, observed: Observed) -> None:
        reason = _C.surroundings_refusal()
        if reason:
            raise Refused(reason)
        torch.clear_autocast_cache()
        arguments = _C.Arguments(args, kwargs, is_value)
        self.walked = walked = walk([("", function), *arguments.objects], observed)
        for refused in (*observed.refusals, *walked.refusals):
            raise Refused(refused.reason, refused.path)
        self.inputs, objects = list(arguments.tensors), {id(t) for _, t in arguments.tensors}
        for path, tensor in self.inputs:
            refuse_unusable(path, tensor)
        captured, grad_of = [], []
        for path, tensor in walked.tensors:
            # What isn't in the CPU's memory can't be used; where the call does, the recorder says so.
            if id(tensor) in objects or _C.key_of(tensor) is None or tensor.device.type != "cpu":
                continue
            objects.add(id(tensor))
            self.inputs.append((path, tensor))
            captured.append(tensor)
            grad_of.append(-1)
        owners = [i for i, (_, t) in enumerate(self.inputs) if t.is_leaf and t.grad is not None]
        for i in owners:
            path, tensor = self.inputs[i]
            if id(tensor.grad) in objects:
                continue
            refuse_unusable(f"{path}.grad", tensor.grad)
            objects.add(id(tensor.grad))
            self.inputs.append((f"{path}.grad", tensor.grad))
            captured.append(tensor.grad)
            grad_of.append(i)
        for path, tensor in self.inputs:
            if tensor.grad_fn is not None and torch.is_grad_enabled():
                raise Refused(f"{path} has a grad_fn, so backward() would go on outside of the call: detach() it")
            if _C.hooks_of(tensor) and self.hooks != "record":
                raise Refused(f"{path} has hooks, which a replay doesn't call (hooks=\"record\" records what they do)")
        self.state = _C.StateGuards([tuple(g) for g in walked.guards], MISSING)
        failed = self.state.first_failed()
        if failed >= 0:
            raise Refused(f"{walked.guards[failed].path} changes while it is looked at")
        self._save(arguments, captured, grad_of)

    def _save(self, arguments: Any, captured: list, grad_of: list) -> None:
        self.recording = _C.Recording(arguments, self.state, captured, grad_of)
        tensors = [t for _, t in self.inputs]
        self.recording.look(tensors, self.history)
        leaves = [i for i, t in enumerate(tensors) if t.requires_grad and t.is_leaf]
        self.recorder = Recorder(self.recording.program, self.inputs, leaves)
        self.copies = _C.copy_inputs(tensors)
        self.handles = {h.address: h for h in map(_C.Storage, tensors)}
        self.uses = {address: h.uses for address, h in self.handles.items()}
        self.versions = [0 if t.is_inference() else t._version for t in tensors]
        self.generator = torch.get_rng_state()

    # --- the call ---

    def _run(self, function: Callable, args: tuple, kwargs: dict, observed: Observed) -> None:
        codes = len(observed.codes)
        refusals = len(observed.refusals)
        try:
            with observed.watching(), Guarded(self.recorder), self.recorder:
                self.result = function(*args, **kwargs)
        finally:
            torch.clear_autocast_cache()
        self.refusal = self.recorder.refusal
        if self.refusal is None and len(observed.refusals) > refusals:
            refused = observed.refusals[refusals]
            self.refusal = Refused(refused.reason, refused.path)
        elif self.refusal is None and len(observed.codes) > codes:
            self.refusal = Refused("functions were called that earlier calls hadn't called", retry=True)

    # --- after the call ---

    def _after(self, observed: Observed) -> None:
        recorder, program = self.recorder, self.recording.program
        recorder.poll_grads()
        self._compare_state()
        results = Results(self.result, [t for _, t in self.inputs], recorder)
        versions = self._versions_grown()
        self._find_survivors(results)
        for slot in results.made_slots:
            program.add_output(slot)
        program.finish(results.view_slots)
        self.recording.set_versions(versions)
        self.recording.set_result(_C.Result(results.template))
        for output, name, message in results.freed:
            self.recording.add_freed_graph(output, name, message)
        self.template, self.foreign = results.template, recorder.foreign
        self._compare_replay(results)

    def _compare_state(self) -> None:
        failed = self.state.first_failed()
        if failed < 0:
            return
        guard = self.walked.guards[failed]
        values = mismatch(guard)
        change = f" from {_short(values[0])} to {_short(values[1])}" if values else ""
        raise Refused(f"the call changes {guard.path}{change}, which a replay wouldn't", retry=True)

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
            if tensor.is_leaf and tensor.grad is not None and id(tensor.grad) not in known:
                explained.add(tensor.grad)
        for last in (False, True):
            left = [h for h in self.recorder.handles if h.uses > self._expected_uses(h, explained)]
            if not left:
                return
            if not last:
                gc.collect()
        raise Refused("a tensor that the call made, or a view of one from outside, outlives it in a place that can't be named: return it")

    def _expected_uses(self, handle: Any, explained: Any) -> int:
        # The handles themselves: the recorder's, and of an input's storage one more.
        before = self.uses.get(handle.address)
        if before is not None:
            return before + 1 + explained.count(handle.address)
        return 1 + explained.count(handle.address)

    def _compare_replay(self, results: Results) -> None:
        """Replays on copies of the state before the call: by the program, whose difference refuses, then by the plan."""
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
        after = torch.get_rng_state()
        (complete, *replayed), drawn = self._on_generator(lambda: (self.recording.replay(copies, plain), torch.get_rng_state()))
        if not complete:
            return "a value that was read is another one"
        return difference(replayed, results.made, copies, self.inputs) or ("" if torch.equal(drawn, after) else "the generator's state")

    def _on_generator(self, run: Callable) -> Any:
        """Runs with the generator's state of before the call, and puts back that of after it."""
        after = torch.get_rng_state()
        torch.set_rng_state(self.generator)
        try:
            return run()
        finally:
            torch.set_rng_state(after)


def _short(value: Any) -> str:
    text = "nothing" if value is MISSING else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
