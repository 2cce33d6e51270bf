"""spawn(): a function in several processes, whose first failure ends the others."""

import multiprocessing
import signal
import sys
import time
import traceback
from multiprocessing import connection

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process that failed: its number, error_index, and error_pid."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process whose function raised: the text has its traceback."""


class ProcessExitedException(ProcessException):
    """A process that ended otherwise: exit_code, and signal_name or None."""

    def __init__(self, msg, error_index, pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, i, args, errors):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the program is interrupted as well
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """What spawn(join=False) returns: `processes`, pids(), and join()."""

    def __init__(self, processes, errors):
        self.processes, self._errors = processes, errors
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """The processes' numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """True when all processes have ended, False where some go on after `timeout` seconds. Where one has failed,
        the others are ended, after grace_period seconds by force, and ProcessRaisedException or
        ProcessExitedException is raised."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(list(self.sentinels), timeout=timeout):
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0 and failed is None:
                failed = i
        if failed is None:
            return not self.sentinels
        self._end_others(30 if grace_period is None else grace_period)
        self._raise(failed)

    def _end_others(self, patience):
        deadline = time.monotonic() + patience
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join()

    def _raise(self, i):
        process, errors = self.processes[i], self._errors[i]
        try:
            text = errors.recv() if errors.poll() else None
        except EOFError:
            text = None
        if text is not None:
            raise ProcessRaisedException(f"process {i} raised an exception:\n{text}", i, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {i} was ended by signal {name}", i, process.pid, code, name)
        raise ProcessExitedException(f"process {i} ended with exit code {code}", i, process.pid, code)


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """spawn() with any start method of multiprocessing's."""
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        errors.append(ours)
    result = ProcessContext(processes, errors)
    if not join:
        return result
    while not result.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(i, *args) in nprocs new processes, i from 0, and waits for them unless `join` is False, where it
    returns a ProcessContext. Where one fails, the others are ended, and ProcessRaisedException or
    ProcessExitedException is raised."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
