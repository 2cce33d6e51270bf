"""Recurrent layers over packed sequences, and nn.utils.rnn, against PyTorch."""

import numpy as np
import pytest

pytest.importorskip("torch")
import torch  # noqa: E402

import shunt  # noqa: E402
from shunt.nn.utils import rnn  # noqa: E402

theirs = torch.nn.utils.rnn
LENGTHS = [3, 5, 1, 5]


def pair(*shape, dtype=np.float64):
    values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    return shunt.from_numpy(values.copy()), torch.from_numpy(values.copy())


def close(a, b):
    assert tuple(a.shape) == tuple(b.shape)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bidirectional": True},
        {"num_layers": 2, "bidirectional": True},
        {"bias": False},
        {"proj_size": 2, "bidirectional": True, "num_layers": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("enforce_sorted", [False, True])
def test_packed_sequences(name, settings, given, enforce_sorted):
    if "proj_size" in settings and name != "LSTM":
        with pytest.raises(ValueError, match="proj_size"):
            getattr(shunt.nn, name)(3, 4, **settings)
        return
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    ours, other = getattr(shunt.nn, name)(3, 4, **settings).double(), getattr(torch.nn, name)(3, 4, **settings).double()
    ours.load_state_dict({key: shunt.from_numpy(value.numpy().copy()) for key, value in other.state_dict().items()})
    assert [[w.numel() for w in layer] for layer in ours.all_weights] == [
        [w.numel() for w in layer] for layer in other.all_weights
    ]
    x, y = pair(5, 4, 3)
    x.requires_grad_(), y.requires_grad_()
    count = ours.num_layers * (2 if ours.bidirectional else 1)
    state = None, None
    if given:
        h, c = pair(count, 4, settings.get("proj_size", 4)), pair(count, 4, 4)
        state = ((h[0], c[0]), (h[1], c[1])) if name == "LSTM" else h
    a, last_a = ours(rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted), state[0])
    b, last_b = other(theirs.pack_padded_sequence(y, torch.tensor(lengths), enforce_sorted=enforce_sorted), state[1])
    close(a.data, b.data)
    assert a.batch_sizes.tolist() == b.batch_sizes.tolist()
    for one, two in zip(last_a if name == "LSTM" else [last_a], last_b if name == "LSTM" else [last_b]):
        close(one, two)
    (out_a, n_a), (out_b, n_b) = rnn.pad_packed_sequence(a, True, -1.0, 6), theirs.pad_packed_sequence(b, True, -1.0, 6)
    close(out_a, out_b)
    assert n_a.tolist() == n_b.tolist()
    out_a.sin().sum().backward()
    out_b.sin().sum().backward()
    close(x.grad, y.grad)
    for p, q in zip(ours.parameters(), other.parameters()):
        close(p.grad, q.grad)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(batch_first, side):
    pairs = [pair(n, 2) for n in LENGTHS]
    a = rnn.pad_sequence([p[0] for p in pairs], batch_first, 7.0, side)
    close(a, theirs.pad_sequence([p[1] for p in pairs], batch_first, 7.0, side))
    if side == "right":
        for one, (two, _) in zip(rnn.unpad_sequence(a, shunt.tensor(LENGTHS), batch_first), pairs):
            assert one.tolist() == two.tolist()


def test_packing_a_list():
    pairs = [pair(n, 2) for n in LENGTHS]
    a = rnn.pack_sequence([p[0] for p in pairs], enforce_sorted=False)
    b = theirs.pack_sequence([p[1] for p in pairs], enforce_sorted=False)
    close(a.data, b.data)
    assert [a[k].tolist() for k in (1, 2, 3)] == [b[k].tolist() for k in (1, 2, 3)]
    assert [x.tolist() for x in rnn.unpack_sequence(a)] == [p[0].tolist() for p in pairs]
    assert a.double().data.dtype is shunt.float64 and not a.is_cuda


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: rnn.pack_padded_sequence(shunt.ones(3, 2), [1, 3]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(shunt.ones(3, 2), [3]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(shunt.ones(3, 2), [3, 0]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(shunt.ones(3, 2), [4, 1]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(shunt.ones(0, 2), [1, 1]), RuntimeError),
        (lambda: rnn.pad_packed_sequence(rnn.pack_sequence([shunt.ones(3)]), total_length=2), ValueError),
        (lambda: rnn.pad_sequence([]), RuntimeError),
        (lambda: rnn.pad_sequence([shunt.ones(1)], padding_side="top"), RuntimeError),
        (lambda: shunt.nn.LSTM(2, 3)(rnn.pack_sequence([shunt.ones(3, 3)])), RuntimeError),
        (lambda: shunt.nn.LSTM("a", 3), TypeError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
