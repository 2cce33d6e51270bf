"""compile(): functions whose operators run as a graph, without the function.

Note [Compiled functions of Python]
The first call with new arguments is watched: which code runs, and which C functions it calls. From that and from the
function everything is walked that a call can read besides its tensors: closures, globals, defaults, attributes
(shunt._walk). What was found is compared before each later call, so a number that changed is another variant, and
never a frozen value. The second call runs the function, too, and shows whether it changes any of that, which no graph
would do. From then on C++ decides (Note [Specialisations]): it records the function on tensors without elements, and
runs the graph. What can't be recorded soundly runs as it is, and explain() says why, with the line.
"""

import functools
import os
import sys
import types
from _thread import allocate_lock  # threading's Lock

from shunt import _C
from shunt._calls import checked_names

__all__ = ["Compiled", "InvalidBackend", "compile", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting",
           "list_backends", "reset"]

_MAX_REASONS = 16  # that explain() counts apart
_WATCHED = "it was watched, as such arguments, or values that the function reads, were seen for the first time"
_UNSTABLE_CALLS = 3  # calls that change what the function reads, before it is left alone
_LIFT_AFTER = 3  # values of a float, before it is a tensor to the graph
_MAX_LIFTED = 8  # arguments, as C++ has it
_LIFTED = "a graph for all values of a float was to be recorded, which failed"
_OPTIONS = {"record_after": None, "max_variants": 8, "max_sizes": 32, "check": None}
# What programs for torch.compile give, and means nothing here.
_BACKENDS = ("shunt", "inductor", "eager", "aot_eager", "aot_eager_decomp_partition", "cudagraphs", "onnxrt", "openxla",
             "tvm")
_MODES = (None, "default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_OTHER_OPTIONS = ("coordinate_descent_tuning", "cpp_wrapper", "debug", "disable_progress", "epilogue_fusion",
                  "fallback_random", "force_disable_caches", "freezing", "fx_graph_cache", "guard_filter_fn",
                  "max_autotune", "max_autotune_gemm", "max_autotune_pointwise", "permute_fusion", "shape_padding",
                  "size_asserts", "verbose_progress")
_OTHER_GROUPS = ("aot_inductor.", "cpp.", "cuda.", "trace.", "triton.")

_everything = None  # weak references to all compiled functions, for reset()


def _walker():
    """The walker's modules, loaded when the first function is compiled."""
    from shunt._walk import guard, observe, refusal, walk
    if not _walker_state:
        _C._set_value_types(guard.library.VALUE_TYPES, guard.enum.Enum)
        _walker_state.append(True)
    return guard, observe, refusal, walk


_walker_state = []


class InvalidBackend(RuntimeError):
    """compile() was given a backend of an unknown name."""


class Compiled(_C._CompiledBase):
    """What compile() returns; called as the function is."""

    def __new__(cls, function, options, name=None, fullgraph=False):
        return super().__new__(cls, function)

    def __init__(self, function, options, name=None, fullgraph=False):
        functools.update_wrapper(self, function, updated=())
        self._options = options
        self._name = name or getattr(function, "__qualname__", type(function).__qualname__)
        self._is_full = fullgraph
        self._lock = allocate_lock()
        self._made_by = None  # of a method of one object: the class's
        self._key = f"_shunt compiled {getattr(function, '__qualname__', '')}"  # under which objects keep theirs
        self.reset()
        _register(self)

    def reset(self):
        """Forgets all graphs and refusals."""
        self._specializations.clear()
        self._facts = {}  # by specialisation: (Observed, Walk, refusal or None)
        self._observed = None  # of a specialisation that is to be made again
        self._is_off = not _C._is_compile_on()
        self._calls_off = 0
        self._past = {}  # counts() of specialisations that were dropped
        self._given_up = ""
        self._changed = ""  # what the last call that changed what it reads has changed
        self._unstable_calls = 0
        self._without = {}  # reasons for calls that ran the function, and how often
        self._missed_last = ""  # where the arguments or values of the last call differed that no variant fitted
        self._missed_argument = False  # whether it was an argument
        self._made_last = None  # the specialisation that it was given
        self._is_full_up = False  # there were as many variants as may be, and a call for another
        self._values_of = {}  # by path of a float argument, or of one that is read: values seen
        self._never_lifted = {}  # by path of those whose values the function looks at: where
        self._lifted = {}  # by specialisation: paths of float arguments that are tensors to its graph
        self._reads = {}  # by specialisation: floats that are read, and are tensors to its graph

    # --- calls that no specialisation fits ---

    def _missed(self, args, kwargs):
        if self._given_up:
            return self._run(f"no variant fitted, and none is made any more: {self._given_up}", args, kwargs)
        if not _C._is_plain_thread() or _C._is_recording() or not self._lock.acquire(blocking=False):
            return self._run("it was called inside of a mode, level or trace, or of itself", args, kwargs)
        try:
            return self._first_call(args, kwargs)
        finally:
            self._lock.release()

    def _run(self, why, args, kwargs):
        self._count(why)
        return self._function(*args, **kwargs)

    def _count(self, why):
        if why not in self._without and len(self._without) >= _MAX_REASONS:
            why = "other reasons"
        self._without[why] = self._without.get(why, 0) + 1

    def _first_call(self, args, kwargs):
        _, observe, _, _ = _walker()
        self._note_miss(args, kwargs)
        self._made_last = None
        if len(self._specializations) >= self._options["max_variants"]:
            return self._run(self._too_many_variants(), args, kwargs)
        try:
            specialization, lifted = self._specialization_for(args, kwargs)
        except (TypeError, ValueError) as error:
            if self._is_full:
                raise RuntimeError(f"{self._name}: {error}") from None
            return self._run(str(error), args, kwargs)
        observed, self._observed = self._observed or observe.Observed(), None
        self._count(_WATCHED)
        with observed.watching():
            result = self._function(*args, **kwargs)
        self._add(specialization, lifted, observed, args, kwargs)
        return result

    def _too_many_variants(self):
        from shunt._explain import advice_on, why_full
        why = why_full(self)
        if not self._is_full_up:
            self._is_full_up = True
            _C._warn(f"shunt.compile: {self._name} runs without a graph from now on where no variant fits: "
                     f"{why}{advice_on(self)}")
        return why

    def _specialization_for(self, args, kwargs):
        made = _C._Specialization(args, kwargs, ())
        lifted = [path for path, value in made.floats() if self._is_one_of_many(path, value)]
        lifted = [path for path in lifted if path not in self._never_lifted][:_MAX_LIFTED]
        return _C._Specialization(args, kwargs, tuple(lifted)) if lifted else made, lifted

    def _is_one_of_many(self, path, value):
        """Whether a float has had many values, this one among them."""
        values = self._values_of.setdefault(path, set())
        if len(values) <= _LIFT_AFTER:
            values.add(repr(value))
        return len(values) > _LIFT_AFTER

    def _lift_reads(self, guards):
        """Lets floats among what is read that have had many values be tensors to the graph."""
        paths = {path for path, values in self._values_of.items() if len(values) > _LIFT_AFTER}
        paths -= self._never_lifted.keys()
        if not paths:
            return []
        from shunt._lifted_reads import lift
        return lift(guards, paths)

    def _add(self, specialization, lifted, observed, args, kwargs):
        guard, _, refusal, walk = _walker()
        try:
            roots = [("", self._function), *specialization.objects(), *_classes(args, kwargs)]
            walked = walk.walk(roots, observed)
            refused = (*observed.refusals, *walked.refusals)
            why = f"{refused[0].path}: {refused[0].reason}" if refused else None
        except RecursionError as error:
            walked, why = None, f"what it reads can't be walked ({error})"
        if walked is None:
            self._give_up(why)
            return
        self._facts[specialization] = (observed, walked, why)
        if why is None:
            self._reads[specialization] = self._lift_reads(walked.guards)
            if lifted:
                self._lifted[specialization] = lifted
        specialization.guard(walked.guards, guard.MISSING, walked.alive, [tensor for _, tensor in walked.tensors])
        failed = specialization.first_failed()
        if failed >= 0:
            self._unstable(specialization, failed, "")
            return
        if why is None:
            o = self._options
            specialization.compile(self._name, o["record_after"], o["max_variants"], o["max_sizes"], o["check"])
        elif self._is_full:
            raise RuntimeError(f"{self._name} can't be compiled as a whole: {why}")
        self._specializations.insert(0, specialization)
        self._made_last = specialization

    def _note_miss(self, args, kwargs):
        if not self._specializations:
            return
        last = self._specializations[0]
        reason = last.difference(args, kwargs)
        self._missed_argument = bool(reason)
        if not reason:
            self._note_floats(last)
            failed = last.first_failed()
            reason = self._mismatch(last, failed) if failed >= 0 else "another thread changed something"
        self._missed_last = reason

    def _note_floats(self, specialization):
        """Notes the values of floats that are read, where they aren't those of a specialisation for these arguments."""
        guard, _, _, _ = _walker()
        for found in self._facts[specialization][1].guards:
            if type(found.expected) is not float:
                continue
            values = guard.mismatch(found)
            if values is not None and type(values[1]) is float:
                self._is_one_of_many(found.path, values[0])
                self._is_one_of_many(found.path, values[1])

    def _mismatch(self, specialization, failed):
        guard, _, refusal, _ = _walker()
        guards = self._facts[specialization][1].guards
        if failed >= len(guards):
            return ("the device of new tensors" if failed > len(guards) else
                    "whether a tensor requires grad, its shape, strides or dtype")
        found = guards[failed]
        values = guard.mismatch(found)
        if values is None:
            return f"{found.path} was another one"
        if found.kind == "plain":
            return f"{found.path}: expected {values[0]}, got one with it"
        if found.kind in ("keys", "set"):
            sizes = [0 if v is guard.MISSING else len(v) for v in values]
            return f"{found.path}: expected {sizes[0]}, got " + (str(sizes[1]) if sizes[0] != sizes[1] else "others")
        expected, got = ("nothing" if v is guard.MISSING else refusal.shortened(v) for v in values)
        if got == expected:
            got = "another, of that form" if got.startswith("a ") else "another that reads the same"
        return f"{found.path}: expected {expected}, got {got}"

    def _give_up(self, why):
        self._given_up = why
        self._is_off = not any(f[2] is None for f in self._facts.values())
        _C._warn(f"shunt.compile: {self._name} runs as it does without: {why}")

    # --- what C++ calls ---

    def _unstable(self, specialization, failed, difference):
        """The call has changed what the function reads, or its arguments."""
        what = self._mismatch(specialization, failed) if failed >= 0 else f"its arguments: {difference}"
        _C._note_change(specialization, what)
        self._changed = what
        observed = self._facts.pop(specialization, (None,))[0]
        for key, value in specialization.counts().items():
            self._past[key] = self._past.get(key, 0) + value
        self._reads.pop(specialization, None)
        self._lifted.pop(specialization, None)
        if specialization in self._specializations:
            self._specializations.remove(specialization)
        self._observed = observed
        self._unstable_calls += 1
        if self._unstable_calls >= _UNSTABLE_CALLS:
            why = f"the function changes {what}, which a graph wouldn't do"
            if self._is_full:
                raise RuntimeError(f"{self._name} can't be compiled as a whole: {why}")
            self._give_up(why)

    def _record(self, specialization, args, kwargs):
        """Runs the function on what stands for its tensors."""
        observed = self._facts[specialization][0]
        extent, refusals = observed.extent, len(observed.refusals)
        if self._lifted_in(specialization):
            result = self._record_lifted(specialization, args, kwargs)
        else:
            with observed.watching():
                result = self._function(*args, **kwargs)
        if len(observed.refusals) > refusals:
            refused = observed.refusals[refusals]
            raise _walker()[2].Refused(refused.reason, refused.path)
        if observed.extent != extent:
            self._leave(specialization)
            self._observed = observed
            raise self._retried(_first_called(observed, extent))
        return result

    def _record_lifted(self, specialization, args, kwargs):
        """The same where floats are tensors to the graph."""
        from shunt._lifted_reads import record
        observed, reads = self._facts[specialization][0], self._reads[specialization]
        names = {path: self._name_of(path) for path in self._lifted_in(specialization)}
        result, refused = record(self._function, args, kwargs, names, reads, observed, self._line_of)
        if refused is not None:
            self._keep_values(specialization, *refused)
            raise _Relift
        return result

    def _lifted_in(self, specialization):
        """Paths of floats that are tensors to its graph."""
        return [*self._lifted.get(specialization, ()), *(r.guard.path for r in self._reads.get(specialization, ()))]

    def _name_of(self, path):
        """How the function's code names a float."""
        from shunt._explain import name_of
        return name_of(path, self._function)

    def _keep_values(self, specialization, paths, why):
        """What is done with these floats needs their values: they have variants for each from now on."""
        for path in paths:
            self._never_lifted[path] = why
        counts = specialization.counts()
        if eager := counts.pop("eager"):
            self._without[_LIFTED] = self._without.get(_LIFTED, 0) + eager
        for key, value in counts.items():
            self._past[key] = self._past.get(key, 0) + value
        for known in (self._facts, self._reads, self._lifted):
            known.pop(specialization, None)
        self._leave(specialization)

    def _leave(self, specialization):
        """Makes it again for the next call that it would fit."""
        if specialization in self._specializations:
            self._specializations.remove(specialization)

    def _retried(self, reason):
        """An error for a recording, after which the next call makes another attempt: so nobody is warned."""
        error = _walker()[2].Refused(reason, retry=True)
        error._shunt_retry = True
        return error

    def _reason(self, error):
        """Why a recording has failed, with the line of the user's code; None where the call is to be made again, by
        another specialisation."""
        if isinstance(error, _Relift):
            return None
        refusal = _walker()[2]
        if isinstance(error, refusal.Refused) and error.where:
            return str(error)
        where, text = self._line_of(error)
        return f"{where}: {text}" if where else text

    def _line_of(self, error):
        """Where the user's code has raised an error, empty where it hasn't, and the error's text."""
        refusal = _walker()[2]
        where, traceback = None, error.__traceback__
        while traceback is not None:
            if refusal.user_frame(traceback.tb_frame) is traceback.tb_frame:
                where = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
            traceback = traceback.tb_next
        is_plain = isinstance(error, (RuntimeError, refusal.Refused))
        text = str(error) if is_plain else f"{type(error).__name__}: {error}"
        text = text.partition(" (called from ")[0]  # a line of C++'s
        return refusal.line_of(*where) if where is not None else "", text

    def _without_graph(self, specialization):
        """What fullgraph=True raises."""
        why = self._facts.get(specialization, (None, None, None))[2] or specialization.explain() or "no graph"
        if specialization in self._facts:
            from shunt._explain import with_line
            why = with_line(why, self._facts[specialization][0])
        return f"{self._name} can't be compiled as a whole: {why}"

    # --- for people ---

    def explain(self):
        """Text: which graphs there are, what they were made for, and why calls ran the function."""
        from shunt._explain import text_of
        return text_of(self)

    def graph(self):
        """Text: the graph that was made or run last; None where there is none."""
        return next((g for g in (s.graph() for s in self._specializations) if g is not None), None)

    def plan(self):
        """Text: how that graph is run; None where there is none."""
        return next((p for p in (s.plan() for s in self._specializations) if p is not None), None)

    def counts(self):
        """What became of the calls: a dict of hits (a graph ran), eager, recorded, invalidated, variants, record_ms."""
        total = {"hits": 0, "eager": sum(self._without.values()) + self._calls_off, "recorded": 0, "invalidated": 0,
                 "variants": 0, "record_ms": 0.0}
        for counts in (self._past, *(s.counts() for s in self._facts)):
            for key, value in counts.items():
                total[key] += value
        total["variants"] -= self._past.get("variants", 0)
        return total

    # --- as a function, method or module ---

    def __get__(self, instance, owner=None):
        """As a method: a compiled function for each object, which lives in the object, as long as it does."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if type(attributes) is not dict:
            return types.MethodType(self, instance)
        bound = attributes.get(self._key)
        # An object that was copied has another one's.
        if type(bound) is not Compiled or bound._made_by is not self or bound._function.__self__ is not instance:
            bound = Compiled(types.MethodType(self._function, instance), self._options, self._name, self._is_full)
            bound._made_by = self
            attributes[self._key] = bound
        return bound

    def __getattr__(self, name):
        """Reads an attribute of the compiled module: parameters(), train(), state_dict()."""
        if name.startswith("__") or "_options" not in vars(self):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __repr__(self):
        return f"<compiled {self._function!r}>"

    def __deepcopy__(self, memo):
        """Returns itself for a function; for a method or module, one that compiles its copy."""
        if isinstance(self._function, types.FunctionType):
            return self
        from copy import deepcopy
        return Compiled(deepcopy(self._function, memo), self._options, self._name, self._is_full)

    def __reduce__(self):
        if self._made_by is not None:
            return getattr, (self._function.__self__, self._function.__name__)
        if isinstance(self._function, types.FunctionType):
            return self._function.__qualname__  # found again by its name, as functions are
        return Compiled, (self._function, self._options, self._name, self._is_full)


_C._allow_vectorcall(Compiled)


def _first_called(observed, extent):
    """Why a recording is tried again: which functions of the user's were called in it for the first time."""
    codes = observed.user_code_since(extent[0])
    names = [f"{code.co_name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" for code in codes]
    if not names:
        return "attributes were asked for that earlier calls hadn't asked for"
    more = f" and {len(names) - 3} more functions" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} ran for the first time while it was recorded, so the next calls record it again"


class _Relift(Exception):
    """A recording in which a float was a tensor, which it can't be."""


def _register(compiled):
    global _everything
    if _everything is None:
        import weakref
        _everything = weakref.WeakSet()
    _everything.add(compiled)


def _classes(args, kwargs):
    """Members of enums among the arguments, which count by value, and classes of named tuples, which are taken apart:
    code reads their attributes."""
    import enum
    found = {}
    todo = [args, kwargs]
    while todo:
        value = todo.pop()
        if isinstance(value, (tuple, list, dict)):
            todo += [*value, *value.values()] if isinstance(value, dict) else value
        if isinstance(value, enum.Enum):
            found.setdefault(id(value), (repr(value), value))
        elif isinstance(value, tuple) and type(value) is not tuple:
            found.setdefault(id(type(value)), (type(value).__qualname__, type(value)))
    return list(found.values())


@checked_names
def compile(model=None, *, fullgraph=False, dynamic=None, backend="shunt", mode=None, options=None, disable=False,
            name=None):
    """A function that does what `model` does, to the bit, and runs as a graph of its operators from the third call on.

    Each combination of arguments that aren't tensors, dtypes, shapes, modes, and the closures, globals and attributes
    that the function reads gets a separate graph. What can't be a graph runs as it is: explain() says why.
    As a decorator, with or without options.

    Args:
        model: a function, method, module or other callable.
        fullgraph: raises RuntimeError where the function can't be a graph.
        dynamic, mode, backend: those of torch.compile are accepted; they change nothing. Others are a RuntimeError,
            InvalidBackend for a backend.
        options: a dict: record_after (calls with the same arguments before it is recorded; "auto": when times say so),
            max_variants (8), max_sizes (32), check ("first", "always" or "never": which runs are compared with the
            function). torch.compile's common ones are accepted, and change nothing; others are a RuntimeError.
        disable: returns `model` itself.
        name: for messages.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                 options=options,
                                 disable=disable, name=name)
    if not callable(model):
        raise TypeError(f"compile: expected a function or another callable, got {type(model).__name__}")
    if not isinstance(backend, str):
        raise NotImplementedError("compile: backend: functions that take a graph aren't supported; Compiled.graph() "
                                  "shows it")
    if backend not in _BACKENDS:
        raise InvalidBackend(f"compile: backend: invalid backend {backend!r}; expected one of {', '.join(_BACKENDS)}"
                             f"{_near(backend, _BACKENDS)}")
    if mode not in _MODES:
        raise RuntimeError(f"compile: unrecognized mode {mode!r}; expected one of {', '.join(_MODES[1:])}"
                           f"{_near(mode, _MODES[1:])}")
    if disable or getattr(model, "_shunt_disabled", False):
        return model
    compiled = Compiled(model, _options_from(options), name, fullgraph)
    # A module stays a module, so that its parameters are found where it is part of another.
    modules = sys.modules.get("shunt.nn.modules.module")
    if modules is None or not isinstance(model, modules.Module):
        return compiled
    from shunt.nn.modules.compiled import CompiledModule
    return CompiledModule(model, compiled)


def _near(name, known):
    from shunt._near_names import did_you_mean
    return did_you_mean(str(name), known)


def _options_from(options):
    for key in options or {}:
        if key not in _OPTIONS and key not in _OTHER_OPTIONS and not str(key).startswith(_OTHER_GROUPS):
            raise RuntimeError(f"compile: unexpected option {key!r}; expected one of {', '.join(_OPTIONS)}"
                               f"{_near(key, _OPTIONS)}")
    given = {key: (options or {}).get(key, default) for key, default in _OPTIONS.items()}
    after = given["record_after"]
    if after is None:
        after = _C._default_record_after()
    given["record_after"] = 0 if after == "auto" else after
    for key in ("record_after", "max_variants", "max_sizes"):
        if not isinstance(given[key], int) or given[key] < (key != "record_after"):
            raise ValueError(f"compile: options: {key}: expected a positive int, got {given[key]!r}")
    if given["check"] not in (None, "first", "always", "never"):
        raise ValueError(f"compile: options: check: expected 'first', 'always' or 'never', got {given['check']!r}")
    return given


def disable(fn=None, recursive=True, *, reason=None):
    """A function that is never part of a graph: what calls it runs as it is. As a decorator, with or without
    arguments."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Compiled):
        fn = fn._function

    @functools.wraps(fn)
    def disabled(*args, **kwargs):
        if _C._is_recording():
            _enter_disabled()
        return fn(*args, **kwargs)

    disabled._shunt_disabled = True
    return disabled


def _enter_disabled():
    raise _walker()[2].Refused("the function calls one that compiler.disable() keeps out of graphs")


def is_compiling():
    """Whether this thread records a function, on tensors without elements."""
    return _C._is_recording()


is_dynamo_compiling = is_compiling


def is_exporting():
    """False: there is no export."""
    return False


def list_backends(exclude_tags=()):
    """["shunt"]."""
    return ["shunt"]


def reset():
    """Forgets all graphs of all compiled functions."""
    for compiled in list(_everything or ()):
        compiled.reset()
