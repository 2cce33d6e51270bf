"""The adaptive softmax, for many classes of which few are frequent."""

from collections import namedtuple

from shunt._composites._common import ops
from shunt.nn import functional as F
from shunt.nn.modules.container import ModuleList, Sequential
from shunt.nn.modules.linear import Linear
from shunt.nn.modules.module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithms of probabilities of classes in clusters by frequency (Grave and others 2016): the head has the most
    frequent ones and one place for each other cluster, whose members have projections of fewer features.

    Args:
        in_features: of the input. Shape (N, in_features), or (in_features,).
        n_classes: how many classes there are, the most frequent first.
        cutoffs: where clusters end, ascending, from 1 to n_classes - 1. ValueError for others.
        div_value: cluster i has in_features // div_value ** (i + 1) features.
        head_bias: whether the head has a bias.
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        ascending = all(isinstance(c, int) and 0 < c < n_classes for c in cutoffs) and cutoffs == sorted(set(cutoffs))
        if not cutoffs or not ascending:
            raise ValueError("AdaptiveLogSoftmaxWithLoss: cutoffs: expected ascending ints from 1 to "
                             f"{n_classes - 1}, at least one, got {cutoffs}")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        settings = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **settings)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(
                Linear(in_features, features, bias=False, **settings),
                Linear(features, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **settings)))

    def reset_parameters(self):
        """Draws the parameters anew."""
        self.head.reset_parameters()
        for first, last in self.tail:
            first.reset_parameters()
            last.reset_parameters()

    def forward(self, input, target):
        """(output, loss): the logarithm of each target's probability, and minus their mean.

        RuntimeError where input and target have no fitting shapes, or targets are no classes.
        """
        if target.dim() > 1 or input.dim() != target.dim() + 1 or input.shape[:-1] != target.shape:
            raise RuntimeError("AdaptiveLogSoftmaxWithLoss: expected shapes (N, in_features) and (N,), or "
                               f"(in_features,) and (), got {tuple(input.shape)} and {tuple(target.shape)}")
        x, classes = (input, target) if target.dim() else (input.unsqueeze(0), target.unsqueeze(0))
        head = F.log_softmax(self.head(x), dim=1)
        output, used = None, 0
        for i, end in enumerate(self.cutoffs):
            begin = self.cutoffs[i - 1] if i else 0
            rows = ((classes >= begin) & (classes < end)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            wanted = (classes.index_select(0, rows) - begin).unsqueeze(1)
            if i == 0:
                values = head.index_select(0, rows).gather(1, wanted)
            else:
                inside = F.log_softmax(self.tail[i - 1](x.index_select(0, rows)), dim=1).gather(1, wanted)
                values = inside + head.index_select(0, rows)[:, self.shortlist_size + i - 1].unsqueeze(1)
            output = head.new_zeros((classes.numel(),)) if output is None else output
            output = output.index_copy(0, rows, values.squeeze(1))
        if used != classes.numel():
            raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss: target: expected classes from 0 to {self.n_classes - 1}, "
                               f"got from {classes.min().item()} to {classes.max().item()}")
        if output is None:
            output = head.new_zeros((0,))
        loss = -output.mean()
        return _ASMoutput(output if target.dim() else output.squeeze(0), loss)

    def _of_all(self, input, head):
        parts = [F.log_softmax(head, dim=1)]
        first = parts[0][:, :self.shortlist_size]
        rest = [F.log_softmax(tail(input), dim=1) + parts[0][:, self.shortlist_size + i].unsqueeze(1)
                for i, tail in enumerate(self.tail)]
        return ops.cat([first, *rest], 1)

    def log_prob(self, input):
        """The logarithms of all classes' probabilities. Shape (N, in_features) to (N, n_classes)."""
        return self._of_all(input, self.head(input))

    def predict(self, input):
        """The most probable class of each. Shape (N, in_features) to (N,)."""
        return self.log_prob(input).argmax(1)
