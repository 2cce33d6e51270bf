"""capture(): a function of PyTorch's tensors that is recorded once and replayed from then on."""

from __future__ import annotations

import copy
import functools
import sys
import threading
import types
import warnings
from typing import Any, Callable, Optional

import torch

from . import _C
from .guard import mismatch
from .observe import Observed
from .comparison import difference, made_of
from .recorded_call import RecordedCall
from .recorder import other_threads
from .refusal import Refused, shortened, user_frame

_WARM_UP = 2  # calls that run as they are: optimisers make their state, and what is called is seen
_ATTEMPTS = 3  # recordings that are refused before the function is left alone
_CHECKED_AT_FIRST = 3
_call, _MISSED = _C.call, _C.MISSED
_is_traced = torch.compiler.is_dynamo_compiling


class CheckFailed(RuntimeError):
    """A replay gave other values than the function (check="always")."""


class Captured:
    """What capture() returns; called as the function is."""

    def __init__(self, function: Callable, numerics: str, check: str, max_recordings: int, hooks: str,
                 name: Optional[str]):
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._check, self._max, self._hooks = check, max_recordings, hooks
        self._name = name or getattr(function, "__qualname__", type(function).__name__)
        self._numerics = numerics
        self._lock = threading.Lock()
        self._made_by: Optional["Captured"] = None  # of a method of one object: the class's
        self._key = f"_shunt_torch {getattr(function, '__qualname__', '')}"  # under which objects keep theirs
        self._holder = 0  # the thread that records or checks
        self._beside: set = set()  # calls of the function by other threads meanwhile
        self._besides = 0  # all that have begun
        self._recordings: list = []
        self.reset()

    def __call__(self, /, *args, **kwargs):
        if self._is_off or _is_traced():  # by torch.compile, which then has the function itself
            self._eager += 1
            return self._function(*args, **kwargs)
        out = _call(self._recordings, args, kwargs)
        return out if out is not _MISSED else self._missed(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """Of a module that is captured its own, to be read: parameters(), train(), state_dict()."""
        if name.startswith("__") or "_function" not in vars(self):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __deepcopy__(self, memo: dict) -> Any:
        """Of a function itself, as copies of functions are; of a method or module one that captures its copy."""
        if isinstance(self._function, types.FunctionType):
            return self
        return Captured(copy.deepcopy(self._function, memo), self._numerics, self._check, self._max, self._hooks,
                        self._name)

    def __reduce__(self) -> Any:
        if self._made_by is not None:
            return getattr, (self._function.__self__, self._function.__name__)
        if isinstance(self._function, types.FunctionType):
            return self._function.__qualname__  # found again by its name, as functions are
        return Captured, (self._function, self._numerics, self._check, self._max, self._hooks, self._name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: a capture for each object, which lives in the object, as long as it does."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if type(attributes) is not dict:
            return types.MethodType(self, instance)
        bound = attributes.get(self._key)
        # An object that was copied has another one's.
        if type(bound) is not Captured or bound._made_by is not self or bound._function.__self__ is not instance:
            bound = Captured(types.MethodType(self._function, instance), self._numerics, self._check, self._max,
                             self._hooks, self._name)
            bound._made_by = self
            attributes[self._key] = bound
        return bound

    def reset(self) -> None:
        """Forgets all recordings and refusals: the next calls warm up and record again."""
        self._recordings = []
        self._facts: dict = {}  # by recording: the RecordedCall
        self._observed = Observed()
        self._calls = self._attempts = 0
        self._next_attempt = _WARM_UP
        self._refusal: Optional[Refused] = None
        self._given_up = ""
        self._is_off = False  # nothing is to be replayed, ever
        self._misses: list[str] = []
        self._eager = 0

    def explain(self) -> str:
        """For people: what is replayed, from which operators, which guard failed last and why there is no recording."""
        from .explain import explain_captured
        return explain_captured(self)

    # --- calls that no recording answers ---

    def _missed(self, args: tuple, kwargs: dict) -> Any:
        # The lock is held where another thread records or checks, or this one, further out.
        if not _C.is_switched_on() or _C.surroundings_refusal() or not self._lock.acquire(blocking=False):
            return self._run_beside(args, kwargs)
        self._holder = threading.get_ident()
        try:
            due = self._due(args, kwargs)
            if due is not None:
                return self._checked(due[0], due[1], args, kwargs)
            if self._given_up:
                return self._run(args, kwargs)
            return self._not_replayed(args, kwargs)
        finally:
            self._holder = 0
            self._lock.release()

    def _run(self, args: tuple, kwargs: dict) -> Any:
        self._eager += 1
        return self._function(*args, **kwargs)

    def _run_beside(self, args: tuple, kwargs: dict) -> Any:
        """The same, so that a check in another thread knows."""
        if self._holder == threading.get_ident():
            return self._run(args, kwargs)
        call = object()
        self._besides += 1
        self._beside.add(call)
        try:
            return self._run(args, kwargs)
        finally:
            self._beside.discard(call)

    def _others(self) -> tuple:
        """Changes where other threads call the function, or have it replayed."""
        return self._besides, len(self._beside), [r.runs for r in self._recordings]

    def _due(self, args: tuple, kwargs: dict) -> Optional[tuple]:
        for recording in self._recordings:
            if recording.runs >= recording.check_at:
                inputs = recording.inputs_of(args, kwargs)
                if inputs is not None:
                    return recording, inputs
        return None

    def _not_replayed(self, args: tuple, kwargs: dict) -> Any:
        self._calls += 1
        if self._recordings:
            difference = self._recordings[0].difference(args, kwargs, self._describe(self._recordings[0]))
            self._misses = [*self._misses[-7:], difference or "a value that was read in the middle was another one"]
        if self._calls <= self._next_attempt and not self._recordings:
            if not self._attempts:
                self._observed = Observed()  # what the call before did once, to prepare itself, is of no later one
            with self._observed.watching():
                return self._run(args, kwargs)
        if len(self._recordings) >= self._max:
            advice = ("to optimisers pass a tensor lr with fused=True (SGD, Adam, AdamW, "
                      "Adagrad)" if "param_groups" in self._misses[-1]
                      else "pass what changes as an argument, numbers as tensors, or copy_() into a tensor that stays")
            self._give_up(f"it was recorded {self._max} times (max_recordings), and no recording fits; the last guard "
                          f"that failed: {self._misses[-1]}: {advice}")
            return self._run(args, kwargs)
        return self._record(args, kwargs)

    def _record(self, args: tuple, kwargs: dict) -> Any:
        self._eager += 1
        others = self._others()
        call = RecordedCall(self._function, args, kwargs, self._observed, self._hooks, self._numerics)
        if call.recording is not None:
            self._facts[id(call.recording)] = call
            call.recording.check_at = 2**64 - 1 if self._check == "never" or (call.foreign and self._check != "always") else 0
            self._recordings = [call.recording, *self._recordings]
        else:
            call.refusal.retry |= others != self._others()
            self._refuse(call.refusal)
        result, call.result = call.result, None
        return result

    def _refuse(self, refusal: Refused) -> None:
        # Which holds the call, through objects that no garbage collector sees.
        self._refusal = refusal.with_traceback(None)
        refusal.__context__ = None
        self._attempts += 1
        self._next_attempt = self._calls + (1 if refusal.retry and self._attempts < _ATTEMPTS else 4 * self._attempts)
        if self._attempts >= 2 * _ATTEMPTS or (not refusal.retry and self._attempts >= 2):
            self._give_up(str(refusal))

    def _give_up(self, why: str) -> None:
        self._given_up = why
        self._is_off = not self._recordings
        _warn(f"shunt_torch: {self._name} runs as it does without capture: {why}")

    def _describe(self, recording: Any) -> Callable[[int], str]:
        guards = self._facts[id(recording)].walked.guards

        def describe(i: int) -> str:
            difference = mismatch(guards[i])
            if difference is None:
                return f"{guards[i].path} was another one"
            return f"{guards[i].path}: expected {shortened(difference[0])}, got {shortened(difference[1])}"
        return describe

    # --- checks ---

    def _checked(self, recording: Any, inputs: list, args: tuple, kwargs: dict) -> Any:
        """The recording on copies, then the function for real, whose results and effects stand. Put off while other
        threads call it."""
        recording.runs += 1
        recording.check_at = self._next_check(recording.runs)
        others = self._others()
        if self._beside or any(r.active for r in self._recordings):
            recording.check_at = recording.runs
            return self._run(args, kwargs)
        call = self._facts[id(recording)]
        named = list(zip(call.paths, inputs))
        copies = _C.copy_inputs(inputs)
        # Numbers that the replay draws are drawn again. Where it draws none, other threads may go on drawing.
        draws, had_others = recording.program.draws, other_threads()
        generator = torch.default_generator.get_state()
        versions = [0 if t.is_inference() else t._version for t in inputs]
        error = None
        if self._numerics == "fast" and recording.has_plan:
            return self._checked_fast(recording, copies, generator if draws else None, args, kwargs)
        try:
            complete, *replayed = recording.replay(copies)
        except Exception as e:
            complete, error = False, e
        drawn = torch.default_generator.get_state() if draws else generator
        if draws:
            torch.default_generator.set_state(generator)
        result = self._function(*args, **kwargs)
        if not complete and error is None:
            return result  # a value was read that is another one: the function ran, as it does then
        what = "" if error is None else f"{type(error).__name__}, {shortened(str(error))}, which the function doesn't raise"
        try:
            what = what or difference(replayed, made_of(call.template, result, inputs), copies, named)
        except Exception:
            what = f"the result has another structure, {shortened(result)}"
        for (path, tensor), before, grown in zip(named, versions, call.versions_grown):
            if not what and not tensor.is_inference() and tensor._version - before != grown:
                what = f"the version of {path} grew by {tensor._version - before} instead of {grown}"
        if not what and not (had_others or other_threads()) and not torch.equal(drawn,
                                                                                torch.default_generator.get_state()):
            what = "the generator's state"
        if not what and call.state.first_failed() >= 0:
            what = self._describe(recording)(call.state.first_failed())
        if what and others != self._others():
            recording.check_at = recording.runs
            return result
        return self._differs(recording, what, result) if what else result

    def _differs(self, recording: Any, what: str, result: Any) -> Any:
        self._recordings = [r for r in self._recordings if r is not recording]
        self._failed(what)
        return result

    def _checked_fast(self, recording: Any, copies: list, generator: Any, args: tuple, kwargs: dict) -> Any:
        """Each operator of the plan, on the inputs that it has in a run of PyTorch's, so that differences don't add
        up."""
        try:
            what = recording.check_operators(copies)
        except Exception:  # an operator throws for these values, as it will in the function, where it belongs
            what = ""
        if generator is not None:
            torch.default_generator.set_state(generator)
        result = self._function(*args, **kwargs)
        return self._differs(recording, what, result) if what else result

    def _failed(self, difference: str) -> None:
        message = f"shunt_torch: a replay of {self._name} gave other values than the function: {difference}"
        if self._check == "always":
            raise CheckFailed(message)
        self._given_up = difference
        self._is_off = not self._recordings
        _warn(message + "; it runs as it does without capture from now on. Please report it")

    def _next_check(self, runs: int) -> int:
        if self._check == "always" or runs < _CHECKED_AT_FIRST:
            return runs
        return 2 * runs


def capture(function: Optional[Callable] = None, *, numerics: str = "exact", check: Optional[str] = None,
            max_recordings: int = 8, hooks: str = "refuse", name: Optional[str] = None) -> Any:
    """Records what `function` does with PyTorch's tensors on the CPU, and replays it from then on.

    The first two calls run as they are, the third is recorded. A call whose arguments, captured tensors, numbers and
    modes are those of a recording is replayed: with the same results, writes, grads and random numbers, to the bit, and
    without running any Python. Others are recorded too, up to `max_recordings`, or run as they are. What can't be
    recorded soundly runs as it is, and `explain()` says why, with the line.

    numerics: "exact", eager's bits; "fast", Shunt's functions (2 ulp), sums and products (within eager's own error
    bound).
    check: "first" (default; SHUNT_TORCH_CHECK) compares the first three replays with the function, then ever fewer; a
    difference warns and ends the capture. "always" compares each and raises CheckFailed; "never" none.
    hooks: "refuse" or "record" hooks of tensors and modules. name: for messages. As a decorator, with or without
    options.
    """
    check = check or _C.default_check()
    for what, value, values in (("numerics", numerics, ("exact", "fast")),
                                ("check", check, ("first", "always", "never")),
                                ("hooks", hooks, ("refuse", "record"))):
        if value not in values:
            raise ValueError(f"capture: {what}: expected {' or '.join(map(repr, values))}, got {value!r}")
    if not isinstance(max_recordings, int) or max_recordings < 1:
        raise ValueError(f"capture: max_recordings: expected a positive int, got {max_recordings!r}")
    if function is None:
        return functools.partial(capture, numerics=numerics, check=check, max_recordings=max_recordings, hooks=hooks,
                                 name=name)
    if not callable(function):
        raise TypeError(f"capture: expected a function or another callable, got a {type(function).__name__}")
    return Captured(function, numerics, check, max_recordings, hooks, name)


def _warn(message: str) -> None:
    """Warns of the line of the user's code that is running."""
    frame, level, users = sys._getframe(1), 2, user_frame(sys._getframe(1))
    while frame.f_back is not None and frame is not users:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
