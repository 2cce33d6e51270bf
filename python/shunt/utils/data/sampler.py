"""Samplers: in which order the examples of a dataset come."""


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


def _check_count(sampler, name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{sampler}(): expected {name} to be an int of at least 1, got {value!r}")


class RandomSampler(Sampler):
    """A random order, or draws with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if num_samples is not None and num_samples is not True:  # PyTorch takes True for 1 here, not below
            _check_count("RandomSampler", "num_samples", num_samples)
        self.data_source, self.replacement, self.generator, self._num_samples = (
            data_source,
            replacement,
            generator,
            num_samples,
        )

    @property
    def num_samples(self):
        """How many are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        from shunt import randint, randperm

        n = len(self.data_source)
        if self.replacement:
            # Some at a time: programs ask for more than they take, by 10^10 for "without end".
            for start in range(0, self.num_samples, 32):
                yield from randint(n, (min(32, self.num_samples - start),), generator=self.generator).tolist()
            return
        left = self.num_samples
        if n == 0 and left > 0:
            raise ZeroDivisionError(f"RandomSampler: expected a dataset to draw {left} examples from, got an empty one")
        while left > 0:
            order = randperm(n, generator=self.generator).tolist()
            yield from order[:left]
            left -= n

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers of a sampler's."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("BatchSampler", "batch_size", batch_size)
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


class SubsetRandomSampler(Sampler):
    """The numbers in `indices` in a random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        from shunt import randperm

        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers 0 to len(weights) - 1, drawn with probabilities in proportion to their weights.

    Args:
        weights: one for each example.
        num_samples: how many are drawn.
        replacement: whether an example may be drawn more than once.
        generator: what is drawn from; the default one by default.
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        from shunt import as_tensor, float64

        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"WeightedRandomSampler(): expected replacement to be a bool, got {replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler(): expected weights with 1 dimension, got shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples
