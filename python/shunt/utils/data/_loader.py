"""DataLoader: batches of a dataset's examples."""

from collections.abc import Mapping, Sequence

from shunt._tensor import Tensor
from shunt.utils.data._dataset import IterableDataset


class Sampler:
    """Base of what says in which order examples come: a derived class defines __iter__."""

    def __init__(self, data_source=None):
        pass

    def __class_getitem__(cls, item):
        return cls

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order, or draws with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        self.data_source, self.replacement, self.generator, self._num_samples = data_source, replacement, generator, num_samples

    @property
    def num_samples(self):
        """How many are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        from shunt import randint, randperm
        n = len(self.data_source)
        if self.replacement:
            yield from randint(n, (self.num_samples,), generator=self.generator).tolist()
            return
        left = self.num_samples
        while left > 0:
            order = randperm(n, generator=self.generator).tolist()
            yield from order[:left]
            left -= n

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers of a sampler's."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def default_collate(batch):
    """A batch of examples as one: tensors are stacked, numbers become tensors, containers are taken apart."""
    from shunt import float64, stack, tensor
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if type(first).__module__ == "numpy":
        from shunt import as_tensor
        return stack([as_tensor(value) for value in batch], 0)
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([example[key] for example in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(values) for values in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(values) for values in zip(*batch)]
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


class DataLoader:
    """Batches of a dataset, one pass for each iteration.

    Args:
        dataset: a Dataset, an IterableDataset, or anything with __len__ and __getitem__.
        batch_size: examples a batch; None gives single examples.
        shuffle: a random order in each pass.
        sampler, batch_sampler: what says the order instead.
        num_workers: 0; the examples are made in this process.
        collate_fn: what makes a batch of a list of examples.
        drop_last: leaves out a last batch that is smaller.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if num_workers > 0:
            raise NotImplementedError(f"DataLoader: num_workers={num_workers} is not implemented in Shunt; 0 is: examples are made in "
                                      "this process")
        if isinstance(dataset, IterableDataset) and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset: expected neither shuffle nor a sampler")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset, self.num_workers, self.generator, self.drop_last = dataset, num_workers, generator, drop_last
        self.batch_size = None if batch_sampler is not None else batch_size
        self._iterable = isinstance(dataset, IterableDataset)
        if sampler is None and not self._iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_size is not None or batch_sampler is not None else lambda x: x)

    def __class_getitem__(cls, item):
        return cls

    def _batches_of_iterable(self):
        batch = []
        for example in self.dataset:
            if self.batch_size is None:
                yield self.collate_fn(example)
                continue
            batch.append(example)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __iter__(self):
        if self._iterable:
            yield from self._batches_of_iterable()
        elif self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
        else:
            for indices in self.batch_sampler:
                get_all = getattr(self.dataset, "__getitems__", None)
                yield self.collate_fn(get_all(indices) if get_all else [self.dataset[i] for i in indices])

    def __len__(self):
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
