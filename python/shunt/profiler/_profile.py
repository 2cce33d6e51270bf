"""profile, record_function and schedule."""

import enum
import functools
import json
import os
import threading
import time

from shunt import _C
from shunt._calls import checked_constructor
from shunt.profiler._events import Event, averages
from shunt.utils._python_dispatch import TorchDispatchMode


class ProfilerActivity(enum.Enum):
    """What can be looked at; Shunt looks at the CPU."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """The activities that are looked at."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function of the number of a step, for profile(): `wait` steps do nothing, and neither do `warmup` more,
    `active` are recorded, and so on for `repeat` times, or for ever with 0."""

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if repeat > 0 and cycle >= repeat:
            return ProfilerAction.NONE
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


_here = threading.local()  # .recorders: those whose blocks this thread is in


def _recorders():
    return getattr(_here, "recorders", ())


class record_function:
    """A context manager and decorator: the block is an event, of this name, of the profiles that look on."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        self._events = [(recorder, recorder.begin(self.name)) for recorder in _recorders()]
        return self

    def __exit__(self, *error):
        for recorder, event in self._events:
            recorder.finish(event)

    def __call__(self, function):
        @functools.wraps(function)
        def recorded(*args, **kwargs):
            with record_function(self.name):
                return function(*args, **kwargs)

        return recorded


def _shapes(args):
    return [list(a.shape) if isinstance(a, _C.TensorBase) else [] for a in args]


class _Recorder(TorchDispatchMode):
    """Notes each call of an operator, and how long it takes."""

    def __init__(self, with_shapes):
        super().__init__()
        self.events, self._open, self._with_shapes = [], [], with_shapes

    def begin(self, name, shapes=()):
        event = Event(name, time.perf_counter_ns(), shapes)
        self.events.append(event)
        self._open.append(event)
        return event

    def finish(self, event):
        event.end = time.perf_counter_ns()
        while self._open and self._open.pop() is not event:
            pass
        if self._open:
            self._open[-1].inside += event.end - event.start

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        namespace, _, rest = str(func).partition(".")
        event = self.begin(f"{namespace}::{rest.rpartition('.')[0]}", _shapes(args) if self._with_shapes else ())
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.finish(event)

    def __enter__(self):
        _here.recorders = (*_recorders(), self)
        return super().__enter__()

    def __exit__(self, *error):
        _here.recorders = tuple(r for r in _recorders() if r is not self)
        return super().__exit__(*error)


@checked_constructor
class profile:
    """A context manager that measures the operators of its block on this thread, those of backward() among them. A
    dispatch mode sees them, which takes about a microsecond each, so sums of many small ones are larger than without
    it; compiled functions run operator by operator.

    Args:
        activities: what is looked at: ProfilerActivity.CPU; others are left out.
        schedule: a function that schedule() makes, by which step() switches it on and off.
        on_trace_ready: called with the profile where a part of the schedule ends, or the block does.
        record_shapes: whether events have the shapes of their arguments.
        profile_memory, with_stack, with_flops, with_modules and those after them: nothing is measured for them.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self._schedule, self._ready, self._shapes = schedule, on_trace_ready, record_shapes
        self._events, self._recorder, self.step_num = [], None, 0

    def _action(self):
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(self.step_num)

    def _record(self):
        if self._recorder is None and self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._recorder = _Recorder(self._shapes)
            self._recorder.__enter__()

    def _end_recording(self, ready):
        if self._recorder is None:
            return
        self._recorder.__exit__(None, None, None)
        self._events, self._recorder = self._recorder.events, None
        if ready and self._ready is not None:
            self._ready(self)

    def start(self):
        """Begins."""
        self._record()

    def stop(self):
        """Ends."""
        self._end_recording(True)

    def step(self):
        """Says that another step of the schedule begins."""
        ended = self._action()
        self.step_num += 1
        if ended is ProfilerAction.RECORD_AND_SAVE:
            self._end_recording(True)
        elif self._action() in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            self._end_recording(False)
        self._record()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def events(self):
        """The events, in the order of their beginnings."""
        return list(self._events if self._recorder is None else self._recorder.events)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """The events' sums by name, or by name and shapes: a list with table()."""
        return averages(self.events(), group_by_input_shape)

    def total_average(self):
        """The sum of all events, an Average."""
        return self.key_averages().total_average()

    def export_chrome_trace(self, path):
        """Writes the events to a file that chrome://tracing and Perfetto read."""
        process, thread = os.getpid(), threading.get_ident()
        events = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": event.name,
                "pid": process,
                "tid": thread,
                "ts": event.start / 1e3,
                "dur": event.cpu_time_total,
            }
            for event in self.events()
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A function for profile()'s on_trace_ready: writes each trace, as export_chrome_trace() does, to a new file in a
    folder, which it makes: <worker_name>.<nanoseconds>.pt.trace.json, with .gz where it compresses it.

    Args:
        dir_name: the folder.
        worker_name: by default the names of the host and the number of the process.
    """

    def write(profile):
        import shutil
        import socket

        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        path = os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json")
        profile.export_chrome_trace(path)
        if use_gzip:
            import gzip

            with open(path, "rb") as source, gzip.open(path + ".gz", "wb") as target:
                shutil.copyfileobj(source, target)
            os.remove(path)

    return write
