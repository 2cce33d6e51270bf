"""What operators do by no operator, and how a recorder finds out: memory that composite operators read or write by themselves,
tensors made from Python's numbers, views under no_grad, and ways that PyTorch takes only where no mode is active."""

import numpy
import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

import judging
import shunt_torch


def captured_as_eager(step, *calls):
    """Calls `step` and what captures it with each of the arguments, the first three times, and gives the captured function."""
    captured = shunt_torch.capture(step, check="never")
    assert judging.compare_calls(step, captured, [calls[0]] * 3 + list(calls)) == ""
    return captured


def abandoned(captured):
    return sum(recording.abandoned for recording in captured._recordings)


def refusal(step, *args):
    captured = shunt_torch.capture(step, check="never")
    with pytest.warns(UserWarning, match="runs as it does without capture"):
        for _ in range(20):
            captured(*judging.copy_of(args))
    return captured._refusal.reason


def test_ways_without_a_mode():
    """Under a TorchDispatchMode svdvals computes vectors, too, and backward of masked_fill sums in another order."""
    def step(x, mask, value):
        x.masked_fill(mask, value).sum().backward()
        return torch.linalg.svdvals(x.detach()), torch.linalg.eigvalsh(x.detach() + x.detach().T)

    generator = torch.Generator().manual_seed(0)
    calls = [(torch.randn(40, 40, generator=generator).requires_grad_(), torch.rand(40, 40) < 0.5, torch.randn(()).requires_grad_())
             for _ in range(3)]
    captured = shunt_torch.capture(step, check="never")
    judging.compare_calls(step, captured, calls)
    assert "masked_select" in captured._refusal.reason  # what eager code does: its size depends on values

    captured_as_eager(lambda x: torch.linalg.svdvals(x), *[(x.detach(),) for x, _, _ in calls])
    captured_as_eager(lambda x: torch.linalg.eigvalsh(x + x.T), *[(x.detach(),) for x, _, _ in calls])


def test_max_pool1d_without_gradients():
    assert judging.replays_of(captured_as_eager(
        lambda x: torch.nn.functional.max_pool1d(x, 2), (torch.randn(2, 6),), (torch.randn(2, 6),))) == 2


def test_lengths_of_a_packed_batch():
    weights = [torch.randn(8, 3), torch.randn(8, 2)]

    def step(data, batch_sizes):
        state = torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)
        return torch._VF.lstm(data, batch_sizes, state, weights, False, 1, 0.0, False, False)[0]

    sizes = torch.tensor([3, 3, 1])
    captured = captured_as_eager(step, (torch.randn(7, 3), sizes), (torch.randn(7, 3), sizes),
                                 (torch.randn(7, 3), torch.tensor([3, 2, 2])))
    assert judging.replays_of(captured) >= 2 and abandoned(captured) == 1


def test_padding_of_a_packed_batch():
    captured = captured_as_eager(lambda data, sizes: pad_packed_sequence(PackedSequence(data, sizes))[0],
                                 (torch.randn(6, 2), torch.tensor([3, 2, 1])), (torch.randn(6, 2), torch.tensor([3, 2, 1])),
                                 (torch.randn(6, 2), torch.tensor([2, 2, 2])))
    assert judging.replays_of(captured) >= 2 and abandoned(captured) == 1


def test_places_at_which_a_tensor_is_split():
    captured = captured_as_eager(lambda x, at: torch.tensor_split(x, at), (torch.randn(6), torch.tensor([2, 3])),
                                 (torch.randn(6), torch.tensor([2, 3])), (torch.randn(6), torch.tensor([1, 5])))
    assert judging.replays_of(captured) >= 2 and abandoned(captured) == 1


def test_lengths_of_ctc_loss():
    def step(logits, targets, lengths):
        return torch.nn.functional.ctc_loss(logits.log_softmax(-1), targets, torch.tensor([5, 5]), lengths, reduction="sum")

    targets = torch.randint(1, 4, (2, 3))
    lengths = torch.tensor([3, 2])
    captured = captured_as_eager(step, (torch.randn(5, 2, 4), targets, lengths), (torch.randn(5, 2, 4), targets, lengths),
                                 (torch.randn(5, 2, 4), targets, torch.tensor([2, 3])))
    assert judging.replays_of(captured) >= 2 and abandoned(captured) == 1


def test_python_numbers():
    scale = [1.0, 2.0]

    def step(x):
        x[:, [0, 1]] = torch.tensor(scale) * torch.as_tensor(2.0)
        constant = torch.tensor([[1, 2]])
        constant.add_(1)  # of the copy of this call
        return x[[1, 0]] + constant, x.new_tensor((3, 4))

    assert judging.replays_of(captured_as_eager(step, (torch.randn(2, 2),), (torch.randn(2, 2),))) == 2


def test_other_data():
    array = numpy.ones(2)
    assert refusal(lambda x: x + torch.tensor(array), torch.randn(2)).startswith("a NumPy array can't be guarded")
    assert "wasn't made by an operator of the call" in refusal(lambda x: x + torch.Tensor([1.0, 2.0]), torch.randn(2))


@pytest.mark.parametrize("view", [lambda w: w.t()[0], lambda w: w.view(3, 2)], ids=["another", "as it is"])
def test_views_under_no_grad(view):
    w = torch.randn(3, 2, requires_grad=True)

    def step():
        with torch.no_grad():
            return view(w)

    captured = captured_as_eager(step, ())
    shown = captured()
    assert judging.replays_of(captured) == 2 and shown._base is w and shown.requires_grad == step().requires_grad


def test_unwritten_memory():
    assert refusal(lambda: torch.empty(3)).startswith("memory is read that was made by torch.empty")
    assert refusal(lambda: torch.empty(3) + 1).startswith("memory is read that was made by torch.empty")
    captured_as_eager(lambda x: torch.empty(3).copy_(x) + torch.empty(0).sum(), (torch.randn(3),))


def test_a_sobol_engine_reads_its_state():
    engine = torch.quasirandom.SobolEngine(2)
    assert "_sobol_engine" in refusal(lambda: torch._sobol_engine_draw(engine.quasi, 2, engine.sobolstate, 2, 0, torch.float32))
