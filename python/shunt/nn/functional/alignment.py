"""ctc_loss: sequences whose alignment to their targets isn't known."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import ops, reduced, reduction_of

# Stands for log(0): sums with it have no NaN in their gradients.
_LOG_ZERO = -1e30


def _lengths(name, lengths, batch, most):
    lengths = lengths.reshape((-1,)).tolist() if hasattr(lengths, "tolist") else list(lengths)
    if len(lengths) != batch:
        raise RuntimeError(f"expected {name} to have {batch} lengths, one for each sample, got {len(lengths)}")
    for length in lengths:
        if length < 0 or length > most:
            raise RuntimeError(f"Expected {name} to have values from 0 to {most}, but got value {length}")
    return lengths


def _rows(targets, lengths):
    """The targets of each sequence, a list of lists of ints."""
    if targets.dim() == 2:
        return [row[:n] for row, n in zip(targets.tolist(), lengths)]
    flat, start, rows = targets.tolist(), 0, []
    if sum(lengths) != len(flat):
        raise RuntimeError(
            f"Expected targets to have size {sum(lengths)}, the sum of target_lengths, but got {len(flat)}"
        )
    for n in lengths:
        rows.append(flat[start : start + n])
        start += n
    return rows


@by_policy("ctc_loss")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """-log of the probability of the targets, summed over all alignments with blanks (Graves and others 2006).

    Args:
        log_probs: logarithms of probabilities. Shape (T, N, C), or (T, C).
        targets: classes other than `blank`. Shape (N, S), or all targets one after the other.
        input_lengths, target_lengths: of each sequence. Shape (N).
        reduction: "mean" divides by the targets' lengths before it takes the mean over the batch.
        zero_infinity: whether losses of sequences that are too short for their targets are 0 rather than infinite.
    The gradient is PyTorch's: that of the scores whose log_softmax `log_probs` is.
    """
    number = reduction_of(reduction)
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss(): expected blank from 0 to {classes - 1}, got {blank}")
    input_lengths = _lengths("input_lengths", input_lengths, batch, steps)
    longest = targets.size(1) if targets.dim() == 2 else targets.numel()
    target_lengths = _lengths("target_lengths", target_lengths, batch, longest)
    loss = _losses(log_probs, _rows(targets, target_lengths), input_lengths, blank)
    if zero_infinity:
        loss = ops.where(loss.isinf(), ops.zeros_like(loss), loss)
    if number == 1:
        from shunt import tensor

        divisors = tensor([float(max(n, 1)) for n in target_lengths], dtype=loss.dtype, device=loss.device)
        return (loss / divisors).mean()
    return loss.squeeze(0) if single and number == 0 else reduced(loss, number)


def _losses(log_probs, rows, input_lengths, blank):
    """The loss of each sequence, from the sums over all beginnings of alignments, step by step."""
    from shunt import _C, tensor

    steps, batch, _ = log_probs.shape
    width = 2 * max(map(len, rows), default=0) + 1
    labels = [[blank] * width for _ in rows]
    for label, row in zip(labels, rows):
        label[1 : 2 * len(row) : 2] = row
    device = log_probs.device
    # Two places may be passed at once between different classes.
    skips = tensor(
        [[s >= 2 and x[s] != blank and x[s] != x[s - 2] for s in range(width)] for x in labels],
        dtype=_C.bool,
        device=device,
    )
    ends = [[s in (2 * len(row), 2 * len(row) - 1) for s in range(width)] for row in rows]
    ends = tensor(ends, dtype=_C.bool, device=device)
    lengths = tensor(input_lengths, dtype=_C.int64, device=device).unsqueeze(1)
    labels = tensor(labels, dtype=_C.int64, device=device)
    scores = log_probs.gather(2, labels.unsqueeze(0).expand((steps, batch, width)))
    nothing = log_probs.new_full((batch, 2), _LOG_ZERO)
    # Before the first step all is at a place in front of the first.
    alpha = log_probs.new_full((batch, width), _LOG_ZERO)
    start = ops.arange(width, device=device).unsqueeze(0) < 2
    for t in range(steps):
        if t == 0:
            reached = ops.where(start, scores[0], alpha)
        else:
            shifted = ops.cat([nothing, alpha], 1)
            one, two = shifted[:, 1 : width + 1], shifted[:, :width]
            two = ops.where(skips, two, ops.full_like(two, _LOG_ZERO))
            reached = ops.logsumexp(ops.stack([alpha, one, two]), 0) + scores[t]
        alpha = ops.where(lengths > t, reached, alpha)
    if width > 1:
        alpha_end = ops.where(ends, alpha, ops.full_like(alpha, _LOG_ZERO))
    else:
        alpha_end = alpha
    found = ops.logsumexp(alpha_end, 1)
    # A sequence of no steps is certain where it has no targets.
    none = [n == 0 for n in input_lengths]
    if any(none):
        certain = tensor([0.0 if not row else _LOG_ZERO for row in rows], dtype=log_probs.dtype, device=device)
        found = ops.where(tensor(none, dtype=_C.bool, device=device), certain, found)
    loss = ops.where(found > _LOG_ZERO / 10, -found, ops.full_like(found, float("inf")))
    counted = ops.where(
        (lengths.squeeze(1).unsqueeze(0) > ops.arange(steps, device=device).unsqueeze(1)).unsqueeze(2),
        log_probs,
        ops.full_like(log_probs, _LOG_ZERO),
    )
    surplus = ops.exp(counted).sum((0, 2))
    return loss + (surplus - surplus.detach())
