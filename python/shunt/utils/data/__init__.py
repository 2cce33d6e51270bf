"""Data in batches, in this process."""

from shunt.utils.data._dataset import (ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split)
from shunt.utils.data._loader import (BatchSampler, DataLoader, RandomSampler, Sampler, SequentialSampler, default_collate)

__all__ = ["BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler",
           "Subset", "TensorDataset", "default_collate", "random_split"]
