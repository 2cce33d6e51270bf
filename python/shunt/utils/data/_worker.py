"""What the processes of a DataLoader do."""

import os
import queue
import random
import sys
import threading
import traceback

from shunt.utils.data.dataset import IterableDataset


class WorkerInfo:
    """What get_worker_info() says: id, num_workers, seed, and dataset, the process's copy of it."""

    def __init__(self, id, num_workers, seed, dataset):  # noqa: A002  PyTorch's name
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset})"


_info = None


def get_worker_info():
    """In a process of a DataLoader, which one it is; None elsewhere."""
    return _info


def fetcher(dataset, batched, batch_size, drop_last, collate_fn):
    """A function that makes a batch of a request, for one pass over the dataset. StopIteration at the end of one
    that has its examples in a row."""
    if isinstance(dataset, IterableDataset):
        examples, ended = iter(dataset), []

        def fetch(_):
            if not batched:
                return collate_fn(next(examples))
            batch = []
            while len(batch) < batch_size and not ended:
                try:
                    batch.append(next(examples))
                except StopIteration:
                    ended.append(True)
            if not batch or (drop_last and len(batch) < batch_size):
                raise StopIteration
            return collate_fn(batch)

        return fetch
    get_all = getattr(dataset, "__getitems__", None) if batched else None

    def fetch(request):
        if not batched:
            return collate_fn(dataset[request])
        return collate_fn(get_all(request) if get_all else [dataset[i] for i in request])

    return fetch


class WorkerException:
    """An exception of a process on its way to the program: its class and its traceback as text."""

    def __init__(self, error, where):
        self.kind, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self):
        """Raises an exception of that class here, or RuntimeError where it isn't made of a text."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = _Verbatim(message)  # KeyError shows the repr of its argument
        try:
            error = self.kind(message)
        except Exception:
            error = RuntimeError(message)
        raise error


class _Verbatim(str):
    def __repr__(self):
        return str(self)


def _read_tasks(connection, tasks, parent):
    """On a thread of its own, so that the program never waits for a process that is busy. Ends with the program."""
    try:
        while True:
            while not connection.poll(5):
                if os.getppid() != parent:
                    os._exit(1)
            tasks.put(connection.recv())
    except (EOFError, OSError):
        while not tasks.empty():  # nobody waits for what these would make
            tasks.get()
        tasks.put(None)


def _prepare(setup, number):
    """Seeds, threads and get_worker_info() of the process. Returns the number that its seeds begin with."""
    global _info
    import shunt

    seed = setup.base_seed + number
    shunt.set_num_threads(1)
    random.seed(seed)
    shunt.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(numpy.random.SeedSequence([seed & (2**63 - 1), number]).generate_state(4))
    _info = WorkerInfo(number, setup.num_workers, seed, setup.dataset)


class Setup:
    """What a process has to know."""

    def __init__(self, loader, base_seed):
        self.dataset, self.num_workers, self.base_seed = loader.dataset, loader.num_workers, base_seed
        self.fetching = loader._batched, loader.batch_size, loader.drop_last, loader.collate_fn
        self.init_fn = loader.worker_init_fn


def work(setup, number, tasks_from, results_to, unused):
    """The process: takes (pass, number of the batch, request), and answers (pass, number of the batch, kind, value),
    where kind is "batch", "end" or "error". Ends where the program closes the connection.

    `unused` are connections of the program's that a forked process has and mustn't keep open.
    """
    for connection in unused:
        connection.close()
    tasks = queue.SimpleQueue()
    parent = os.getppid()
    threading.Thread(target=_read_tasks, args=(tasks_from, tasks, parent), daemon=True).start()
    try:
        _answer_all(setup, number, tasks, results_to)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the program is interrupted as well, or doesn't listen any more


def _answer_all(setup, number, tasks, results_to):
    where = f"in DataLoader worker process {number}"
    failed = fetch = current = None
    ended = False
    try:
        _prepare(setup, number)
        if setup.init_fn is not None:
            setup.init_fn(number)
    except Exception as error:
        failed = WorkerException(error, where)
    while (task := tasks.get()) is not None:
        which, batch, request = task
        try:
            if failed is not None:
                answer = "error", failed
                failed = None
            else:
                if which != current:
                    fetch, ended, current = fetcher(setup.dataset, *setup.fetching), False, which
                answer = ("end", None) if ended else ("batch", fetch(request))
        except StopIteration as error:
            ended = isinstance(setup.dataset, IterableDataset)
            answer = ("end", None) if ended else ("error", WorkerException(error, where))
        except Exception as error:
            answer = "error", WorkerException(error, where)
        _send(results_to, which, batch, *answer, where)
        del answer


def _send(results_to, which, batch, kind, value, where):
    from multiprocessing.reduction import ForkingPickler

    try:
        data = ForkingPickler.dumps((which, batch, kind, value))
    except Exception as error:
        data = ForkingPickler.dumps((which, batch, "error", _picklable(error, where)))
    results_to.send_bytes(data)


def _picklable(error, where):
    wrapped = WorkerException(error, where)
    if wrapped.kind.__module__ != "builtins":
        wrapped.kind = RuntimeError
    return wrapped
