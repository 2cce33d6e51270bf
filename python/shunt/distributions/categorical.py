"""Categorical."""

from shunt import _C, finfo
from shunt import _operators as ops
from shunt._composites import broadcast_shapes
from shunt.distributions import constraints
from shunt.distributions._with_logits import WithLogits, check_one
from shunt.distributions.distribution import Distribution

__all__ = ["Categorical"]


class Categorical(WithLogits, Distribution):
    """One of the numbers 0 to n - 1.

    Args:
        probs: their probabilities, up to a factor, along the last dimension.
        logits: their logarithms, up to a term, instead.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        given, name = (logits, "logits") if probs is None else (probs, "probs")
        if given.dim() < 1:
            raise ValueError(f"Categorical(): expected {name} with 1 dimension or more, got 0")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.size(-1)
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(Categorical, ("probs", "logits"), batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return ops.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape=()):
        sample_shape = _C.Size(sample_shape)
        rows = self.probs.detach().reshape((-1, self._num_events))
        if sample_shape.numel() == 0 or rows.size(0) == 0:
            return ops.empty(self._extended_shape(sample_shape), dtype=_C.int64, device=rows.device)
        drawn = rows.multinomial(sample_shape.numel(), True)
        return drawn.t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._checked(value)
        shape = broadcast_shapes(value.shape, self.logits.shape[:-1])
        index = value.to(_C.int64).expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, self._num_events)).gather(-1, index).squeeze(-1)

    def entropy(self):
        # -inf times a probability of 0 counts nothing.
        logits = ops.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(ops.arange(self._num_events, dtype=_C.int64, device=self._param.device), expand)
