"""Datasets: what has examples by number, or in a row."""

import bisect
import itertools


class Dataset:
    """Base of datasets: a derived class defines __getitem__(index), and __len__."""

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, index):
        raise NotImplementedError(
            f"{type(self).__name__} has no __getitem__(); a class derived from Dataset defines one"
        )

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of datasets that have examples in a row: a derived class defines __iter__."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors of one first size: example i is (t[i] for each)."""

    def __init__(self, *tensors):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            lengths = [t.shape[0] for t in tensors]
            raise AssertionError(f"TensorDataset(): expected tensors of one length, got {lengths}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset(): expected at least one dataset, got none")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError(f"ConcatDataset: expected an index of at least {-len(self)}, got {index}")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which > 0 else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset(): expected IterableDatasets, got {type(dataset).__name__}")
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self.datasets)


class StackDataset(Dataset):
    """Datasets of one length side by side: example i is the tuple of their examples i, or with keywords the
    dictionary."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                f"StackDataset(): expected datasets by place, for tuples, or by name, for dicts, got {len(args)} and "
                f"{len(kwargs)}"
            )
        if not args and not kwargs:
            raise ValueError("StackDataset(): expected at least one dataset, got none")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if any(length != lengths[0] for length in lengths):
            raise ValueError(f"StackDataset(): expected datasets of one length, got {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class Subset(Dataset):
    """The examples of a dataset that `indices` names, in that order."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of these lengths (numbers of examples, or fractions that add up to 1), drawn without replacement."""
    from shunt import default_generator, randperm

    lengths = list(lengths)
    if all(0 <= length <= 1 for length in lengths) and abs(sum(lengths) - 1) < 1e-9:
        parts = [int(len(dataset) * fraction) for fraction in lengths]
        for i in range(len(dataset) - sum(parts)):
            parts[i % len(parts)] += 1
        lengths = parts
    if sum(lengths) != len(dataset):
        raise ValueError(
            f"random_split(): expected lengths whose sum is {len(dataset)}, the dataset's, got {list(lengths)}"
        )
    order = randperm(len(dataset), generator=generator or default_generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]
