"""Runs a program with random numbers of NumPy's in the place of torch's: python [-m shunt] -m same_draws FILE ...

So that a program draws the same numbers under PyTorch and under Shunt, whose generators differ, and what it learns can
be compared step by step. Attention that drops out is computed here, of other functions, in both packages; attention
that doesn't is the package's own. `import torch` is PyTorch's or Shunt's, as the process has it.
"""

import math
import runpy
import sys

import numpy
import torch
import torch.nn.functional as F

numbers = numpy.random.RandomState(0)


def _shape_of(sizes, size):
    if size is not None:
        return tuple(size)
    return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


def _tensor(values, dtype=None, requires_grad=False, **_):
    dtype = dtype or torch.get_default_dtype()
    return torch.tensor(numpy.asarray(values).tolist(), dtype=dtype).requires_grad_(requires_grad)


def _fill(tensor, values):
    with torch.no_grad():
        return tensor.copy_(_tensor(values, tensor.dtype))


def _seeded(manual_seed):
    def seed_both(seed):
        numbers.seed(int(seed) % 2**32)
        return manual_seed(seed)

    return seed_both


def _uniform_(self, *bounds, generator=None, **named):
    low = bounds[0] if bounds else named.get("from", 0.0)
    high = bounds[1] if len(bounds) > 1 else named.get("to", 1.0)
    return _fill(self, numbers.uniform(low, high, tuple(self.shape)))


def _normal_(self, mean=0.0, std=1.0, *, generator=None):
    return _fill(self, numbers.normal(mean, std, tuple(self.shape)))


def _bernoulli_(self, p=0.5, *, generator=None):
    return _fill(self, numbers.uniform(size=tuple(self.shape)) < p)


def _randn(*sizes, size=None, generator=None, **options):
    return _tensor(numbers.normal(size=_shape_of(sizes, size)), **options)


def _rand(*sizes, size=None, generator=None, **options):
    return _tensor(numbers.uniform(size=_shape_of(sizes, size)), **options)


def _like(function):
    def like(input, *, dtype=None, memory_format=None, **options):
        return function(tuple(input.shape), dtype=dtype or input.dtype, **options)

    return like


def _randint(low=0, high=None, size=None, *, generator=None, dtype=None, **options):
    if not isinstance(high, int):  # randint(high, size)
        low, high, size = 0, low, size if high is None else high
    return _tensor(numbers.randint(low, high, tuple(size)), dtype or torch.int64, **options)


def _randperm(n, *, generator=None, dtype=None, **options):
    return _tensor(numbers.permutation(n), dtype or torch.int64, **options)


def _multinomial(input, num_samples, replacement=False, *, generator=None):
    weights = numpy.asarray(input.detach().tolist(), dtype=numpy.float64)
    weights /= weights.sum(-1, keepdims=True)
    rows = [numbers.choice(len(row), num_samples, replacement, row) for row in numpy.atleast_2d(weights)]
    return _tensor(rows if weights.ndim > 1 else rows[0], torch.int64)


def _dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0.0:
        return input
    kept = _tensor(numbers.uniform(size=tuple(input.shape)) >= p, input.dtype) / (1 - p)
    return input.mul_(kept) if inplace else input * kept


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p == 0.0:
        return own_attention(
            query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if enable_gqa:
        raise NotImplementedError("attention that drops out, of groups of queries")
    weights = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(weights.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        weights = weights.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        weights = weights + attn_mask
    return F.dropout(F.softmax(weights, -1), dropout_p, dropout_p > 0) @ value


own_attention = F.scaled_dot_product_attention
torch.manual_seed = _seeded(torch.manual_seed)
torch.Tensor.uniform_ = _uniform_
torch.Tensor.normal_ = _normal_
torch.Tensor.bernoulli_ = _bernoulli_
torch.randn, torch.rand, torch.randint, torch.randperm = _randn, _rand, _randint, _randperm
torch.randn_like, torch.rand_like = _like(_randn), _like(_rand)
torch.multinomial = torch.Tensor.multinomial = _multinomial
F.dropout = _dropout
F.scaled_dot_product_attention = _attention

# What programs save of NumPy's they load by default, as PyTorch did before 2.6.
torch.serialization.add_safe_globals([
    (numpy.array(0).__reduce__()[0], "numpy._core.multiarray._reconstruct"), numpy.ndarray, numpy.dtype,
    type(numpy.dtype("float64"))])

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    sys.path[0] = sys.argv[0].rpartition("/")[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
