"""DataLoader: batches of a dataset's examples."""

import itertools

from shunt._calls import checked_constructor
from shunt.utils.data._collate import default_collate, default_convert
from shunt.utils.data.dataset import IterableDataset
from shunt.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler


def _context(given, num_workers):
    """The context of multiprocessing's, or None for the usual one."""
    if given is None:
        return None
    if num_workers == 0:
        raise ValueError("DataLoader(): multiprocessing_context: expected None, as num_workers is 0")
    import multiprocessing

    if isinstance(given, str):
        if given not in multiprocessing.get_all_start_methods():
            methods = ", ".join(multiprocessing.get_all_start_methods())
            raise ValueError(f"DataLoader(): multiprocessing_context: expected one of {methods}, got {given!r}")
        return multiprocessing.get_context(given)
    if not hasattr(given, "Process"):
        raise TypeError(
            "DataLoader(): multiprocessing_context: expected the name of a start method, or a context, got "
            f"{type(given).__name__}"
        )
    return given


def _here(fetch, requests):
    """The batches, made in this process."""
    for request in requests:
        try:
            batch = fetch(request)
        except StopIteration:
            return
        yield batch


@checked_constructor
class DataLoader:
    """Batches of a dataset, one pass for each iteration.

    Args:
        dataset: a Dataset, an IterableDataset, or anything with __len__ and __getitem__.
        batch_size: examples a batch; None gives single examples.
        shuffle: a random order in each pass.
        sampler, batch_sampler: what says the order instead.
        num_workers: how many processes make the examples; 0 makes them in this one.
        collate_fn: what makes a batch of a list of examples.
        drop_last: leaves out a last batch that is smaller.
        timeout: seconds to wait for a batch of a process, RuntimeError after them; 0 waits for ever.
        worker_init_fn: worker_init_fn(number of the process), called in each.
        multiprocessing_context: "fork", "spawn", "forkserver", or a context of multiprocessing's.
        generator: what the random order, and the processes' seeds, are drawn from.
        prefetch_factor: how many batches each process makes in advance; 2 by default.
        persistent_workers: whether the processes go on to the next pass.
        in_order: False gives batches as they are ready.
    An exception in a process is raised here, with its traceback there in the message.
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        counts = {"num_workers": num_workers, "timeout": timeout, "prefetch_factor": prefetch_factor}
        for name, count in counts.items():
            if count is not None and (isinstance(count, bool) or not isinstance(count, (int, float))):
                raise TypeError(f"DataLoader(): {name}: expected a number, got {count!r}")
            if count is not None and count < 0:
                raise ValueError(f"DataLoader(): {name}: expected 0 or more, got {count}")
        if num_workers > 0:
            prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        elif persistent_workers or prefetch_factor is not None:
            name = "persistent_workers" if persistent_workers else "prefetch_factor"
            raise ValueError(f"DataLoader(): {name}: expected its default, as num_workers is 0")
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.timeout, self.worker_init_fn, self.prefetch_factor = timeout, worker_init_fn, prefetch_factor
        self.persistent_workers, self.in_order, self.pin_memory = persistent_workers, in_order, pin_memory
        self._iterator = None
        if isinstance(dataset, IterableDataset) and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader(): an IterableDataset has an order: expected neither shuffle nor a sampler")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader(): sampler says the order: expected shuffle to be false")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "DataLoader(): batch_sampler says it all: expected no batch_size, shuffle, sampler or drop_last"
            )
        if batch_size is None and drop_last:
            raise ValueError("DataLoader(): there are no batches without batch_size: expected drop_last to be false")
        self.dataset, self.num_workers, self.generator, self.drop_last = dataset, num_workers, generator, drop_last
        self.batch_size = None if batch_sampler is not None else batch_size
        self._iterable = isinstance(dataset, IterableDataset)
        if sampler is None and not self._iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self._batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)

    def __class_getitem__(cls, item):
        return cls

    def _requests(self):
        """What each batch is asked for by: numbers of examples, or nothing of a dataset that has them in a row."""
        if not self._iterable:
            return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        return itertools.repeat(None)

    def __iter__(self):
        from shunt.utils.data._worker import fetcher

        if self.num_workers == 0:
            fetch = fetcher(self.dataset, self._batched, self.batch_size, self.drop_last, self.collate_fn)
            return _here(fetch, self._requests())
        from shunt.utils.data._worker_iterator import WorkerIterator

        if not self.persistent_workers:
            return WorkerIterator(self)
        if self._iterator is None or self._iterator.closed:
            self._iterator = WorkerIterator(self)
        else:
            self._iterator.restart()
        return self._iterator

    def __getstate__(self):
        return {**self.__dict__, "_iterator": None}

    def __len__(self):
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
