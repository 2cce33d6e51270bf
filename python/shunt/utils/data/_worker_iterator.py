"""The program's side of a DataLoader with processes."""

import multiprocessing
import pickle
import signal
import time
from multiprocessing import connection

from shunt.utils.data._worker import Setup, work


class _Worker:
    """A process, the connections to it, and how many batches it is asked for."""

    def __init__(self, context, setup, number, others):
        tasks_from, self.tasks_to = context.Pipe(duplex=False)
        self.results_from, results_to = context.Pipe(duplex=False)
        forked = context.get_start_method() == "fork"
        unused = [c for other in others for c in (other.tasks_to, other.results_from)]
        unused += [self.tasks_to, self.results_from]
        self.process = context.Process(
            target=work, args=(setup, number, tasks_from, results_to, unused if forked else ()), daemon=True
        )
        self.process.start()
        tasks_from.close()
        results_to.close()
        self.number, self.pending, self.ended = number, 0, False

    def close(self):
        """Tells the process to end."""
        self.tasks_to.close()
        self.results_from.close()


class WorkerIterator:
    """The batches of one pass, or with persistent workers of one after the other. Each process has up to
    prefetch_factor requests; batches come in their order, whichever process is ready first."""

    def __init__(self, loader):
        self._loader, self._workers, self.closed = loader, [], False
        context = loader.multiprocessing_context or multiprocessing.get_context()
        setup = Setup(loader, _draw_seed(loader))
        try:
            for number in range(loader.num_workers):
                self._workers.append(_Worker(context, setup, number, self._workers))
        except BaseException:
            self.close()
            raise
        self._pass = -1
        self._begin()

    def restart(self):
        """Begins another pass with the same processes. What they still make for the one before is dropped."""
        _draw_seed(self._loader)
        self._begin()

    def _begin(self):
        self._pass += 1
        self._requests = self._loader._requests()
        self._asked = self._given = 0
        self._ready, self._made_by = {}, {}  # by number of the batch: what came, and of which process it is asked
        self._turn, self._no_more = 0, False
        for worker in self._workers:
            worker.pending, worker.ended = 0, False
        for _ in range(max(1, self._loader.prefetch_factor)):
            for _ in self._workers:
                self._ask()

    def _ask(self):
        """Gives the next request to the next process that goes on, unless there are no more."""
        if self._no_more:
            return
        going = [w for w in self._workers if not w.ended]
        worker = next((w for w in going if w.number >= self._turn), going[0] if going else None)
        if worker is None:
            return
        try:
            request = next(self._requests)
        except StopIteration:
            self._no_more = True
            return
        self._turn = (worker.number + 1) % len(self._workers)
        self._made_by[self._asked] = worker
        worker.pending += 1
        try:
            worker.tasks_to.send((self._pass, self._asked, request))
        except (BrokenPipeError, OSError):
            self._raise_dead(worker)
        self._asked += 1

    def __iter__(self):
        return self

    def __next__(self):
        if self.closed:
            raise StopIteration
        try:
            kind, value = self._next_answer()
        except BaseException:
            self.close()
            raise
        if kind is None:
            if not self._loader.persistent_workers:
                self.close()
            raise StopIteration
        if kind == "error":
            value.reraise()
        return value

    def _next_answer(self):
        """(kind, value) of the next batch; (None, None) where there are no more."""
        while self._made_by:
            which = self._given if self._loader.in_order else next(iter(self._ready), None)
            if which not in self._ready:
                self._receive()
                continue
            kind, value = self._ready.pop(which)
            self._given += 1
            worker = self._made_by.pop(which)
            if kind == "end":
                worker.ended = True
            self._ask()
            if kind != "end":
                return kind, value
        return None, None

    def _receive(self):
        """Takes answers of processes into self._ready, or waits for one."""
        timeout = self._loader.timeout
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while True:
            by_connection = {w.results_from: w for w in self._workers if w.pending}
            sentinels = {w.process.sentinel: w for w in self._workers if w.pending}
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            seen = connection.wait([*by_connection, *sentinels], left)
            if not seen:
                raise RuntimeError(f"DataLoader: no batch came within timeout={timeout} seconds")
            got = False
            for c in seen:
                if c in by_connection:
                    got = self._take(by_connection[c]) or got
            if got:
                return
            for s in seen:
                if s in sentinels and not sentinels[s].results_from.poll():
                    self._raise_dead(sentinels[s])

    def _take(self, worker):
        """Whether the process's next answer is of this pass."""
        try:
            data = worker.results_from.recv_bytes()
        except (EOFError, OSError):
            self._raise_dead(worker)
        which, batch, kind, value = pickle.loads(data)
        if which != self._pass:
            return False
        worker.pending -= 1
        self._ready[batch] = kind, value
        return True

    def _raise_dead(self, worker):
        worker.process.join(5)
        code, pid = worker.process.exitcode, worker.process.pid
        if code is not None and code < 0:
            raise RuntimeError(
                f"DataLoader: the worker of process {pid} was killed by signal {signal.strsignal(-code)}"
            )
        raise RuntimeError(f"DataLoader: the worker of process {pid} ended by itself, with exit code {code}")

    def __len__(self):
        return len(self._loader)

    def close(self):
        """Ends the processes: they are told to, and killed where they don't in time."""
        if self.closed:
            return
        self.closed = True
        for worker in self._workers:
            worker.close()
        patience = time.monotonic() + 2
        for how in (lambda process: None, lambda process: process.terminate(), lambda process: process.kill()):
            for worker in self._workers:
                if worker.process.is_alive():
                    how(worker.process)
            for worker in self._workers:
                worker.process.join(max(0.05, patience - time.monotonic()))
            patience = time.monotonic() + 2

    def __del__(self):
        try:
            self.close()
        except Exception:  # at the interpreter's end multiprocessing may be gone, and it ends daemons itself
            pass


def _draw_seed(loader):
    from shunt import int64, randint

    return int(randint(0, 2**62, (), dtype=int64, generator=loader.generator))
