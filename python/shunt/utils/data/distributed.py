"""DistributedSampler."""

import math

from shunt.utils.data.sampler import Sampler


class DistributedSampler(Sampler):
    """The part of a dataset that one of several processes takes.

    Args:
        dataset: anything with __len__.
        num_replicas: how many processes there are.
        rank: which of them this is.
        shuffle: whether the order is random: by seed + epoch, which set_epoch() sets.
        drop_last: leaves out examples at the end, for parts of one size, where examples are repeated otherwise.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "DistributedSampler(): expected num_replicas and rank, as there are no processes to ask, got None"
            )
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"DistributedSampler(): expected rank from 0 to {num_replicas - 1}, got {rank}")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last and n % num_replicas else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        from shunt import Generator, randperm

        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            order = randperm(n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        if self.drop_last:
            order = order[: self.total_size]
        elif order:
            order = (order * math.ceil(self.total_size / n))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Sets the epoch, on which the random order depends."""
        self.epoch = epoch
