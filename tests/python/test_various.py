"""Functions that programs use now and then, against PyTorch's."""

import math

import pytest

pytest.importorskip("torch")

import shunt  # noqa: E402
from twins import close, same  # noqa: E402


def x(L):
    return L.tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 2.0], [3.0, 1.0, 2.0]])


@pytest.mark.parametrize(
    "program",
    [
        lambda L: x(L).unique(),
        lambda L: L.unique(L.tensor([3, 1, 1]), return_inverse=True, return_counts=True),
        lambda L: L.unique(x(L), dim=0, return_inverse=True, return_counts=True),
        lambda L: L.unique(x(L), dim=1, return_inverse=True, return_counts=True),
        lambda L: L.unique(L.tensor([[2, 1], [1, 5], [1, 2]]), dim=0),
        lambda L: L.unique(L.tensor([True, False, True]), return_counts=True),
        lambda L: L.unique(L.zeros(0), return_inverse=True),
        lambda L: L.unique(L.tensor(3.0), return_counts=True),
        lambda L: L.unique(L.ones(0, 2), dim=0),
        lambda L: L.unique(L.ones(2, 0), dim=0),
        lambda L: L.unique_consecutive(L.tensor([1, 1, 2, 1]), return_inverse=True, return_counts=True),
        lambda L: L.unique_consecutive(x(L), dim=0, return_counts=True),
        lambda L: tuple(L.tensor([[1, 2, 2], [5, 5, 1]]).mode(1)),
        lambda L: tuple(L.mode(x(L), 0, keepdim=True)),
        lambda L: L.tensor([2, 1, 2, 1]).mode().values,
        lambda L: L.tensor(3.0).mode().indices,
        lambda L: L.zeros(2, 0).mode(1),
        lambda L: L.histc(x(L), 4),
        lambda L: L.histc(x(L), bins=3, min=1, max=2),
        lambda L: L.histc(L.ones(3), 2),
        lambda L: L.histc(x(L), 0),
        lambda L: L.histc(x(L), 2, min=3, max=1),
        lambda L: L.histc(L.tensor([math.inf])),
        lambda L: tuple(L.histogram(x(L), 4)),
        lambda L: tuple(x(L).histogram(3, range=(0.0, 2.0), density=True)),
        lambda L: tuple(L.histogram(x(L), L.tensor([0.0, 1.5, 3.0]), weight=x(L))),
        lambda L: L.zeros(3, 4).fill_diagonal_(2),
        lambda L: L.zeros(5, 2).fill_diagonal_(2, wrap=True),
        lambda L: L.zeros(2, 2, 2).fill_diagonal_(1),
        lambda L: L.zeros(2).fill_diagonal_(1),
        lambda L: L.zeros(2, 3, 2).fill_diagonal_(1),
        lambda L: L.arange(3).apply_(lambda v: v * v),
        lambda L: L.ones(2).map_(L.tensor([1.0, 2.0]), lambda a, b: a + b),
        lambda L: L.ones(1, requires_grad=True).apply_(abs),
        lambda L: [L.ones(1).is_nonzero(), L.zeros(1, 1).is_nonzero()],
        lambda L: L.ones(2).is_nonzero(),
        lambda L: L.zeros(3).index_reduce(0, L.tensor([0, 1]), L.ones(2), "prod"),
        lambda L: L.ones(2, 3).index_reduce(
            1, L.tensor([0, 0]), L.tensor([[2.0, 3.0], [4.0, 5.0]]), "mean", include_self=False
        ),
        lambda L: L.zeros(3).index_reduce(0, L.tensor([0, 1]), L.ones(2), "sum"),
        lambda L: L.empty_permuted((2, 3, 4), (2, 0, 1)).stride(),
        lambda L: L.empty_permuted((2, 3), (0, 0)),
        lambda L: L.range(0, 3),
        lambda L: L.range(1, 2, 0.25),
        lambda L: L.range(3, 0, -1),
        lambda L: L.range(0, 3, 0),
        lambda L: L.range(3, 0),
        lambda L: L.vander(L.tensor([1, 2, 3])),
        lambda L: L.vander(L.tensor([1.0, 2.0]), 4, increasing=True),
        lambda L: L.vander(L.ones(1, 1)),
        lambda L: L.gradient(L.tensor([1.0, 4.0, 9.0, 16.0])),
        lambda L: L.gradient(x(L), spacing=2.0),
        lambda L: L.gradient(x(L), dim=1, edge_order=2),
        lambda L: L.gradient(x(L), spacing=[1.0, 0.5], edge_order=2),
        lambda L: L.gradient(L.tensor([1.0, float("inf"), 3.0, 4.0, 5.0])),
        lambda L: L.gradient(L.tensor([1.0, 2.0, 3.0, 4.0, float("inf")]), spacing=0.5, edge_order=2),
        lambda L: L.gradient(L.tensor([1.0, float("inf"), 3.0, 4.0]), spacing=(L.tensor([0.0, 1.0, 2.5, 3.0]),)),
        lambda L: L.gradient(L.tensor([1.0, 4.0, 9.0]), spacing=(L.tensor([0.0, 1.0, 3.0]),)),
        lambda L: L.gradient(L.ones(1)),
        lambda L: L.einsum("ij,jk", x(L), x(L)),
        lambda L: L.einsum("ij->ji", x(L)),
        lambda L: L.einsum("ij,jk->ik", [x(L), x(L)]),
        lambda L: x(L).copy_(3),
        lambda L: L.arange(3).copy_(2),
        lambda L: L.ones(2).copy_("a"),
        lambda L: L.pdist(x(L)),
        lambda L: x(L).hardshrink(1.5),
        lambda L: x(L)[:2, 1:].logdet(),
        lambda L: (x(L) + 5 * L.eye(3)).inverse(),
        lambda L: tuple((x(L) + 5 * L.eye(3)).slogdet()),
        lambda L: (x(L) + 5 * L.eye(3)).matrix_power(-2),
        lambda L: (x(L) + 5 * L.eye(3)).det(),
        lambda L: L.cholesky_solve(x(L), L.cholesky(L.eye(3) * 4)),
        lambda L: L.erfinv(L.tensor([0.5, -0.2])),
        lambda L: list(L.arange(3).storage()),
        lambda L: x(L)[1:].storage().size(),
        lambda L: L.utils.data.get_worker_info(),
    ],
)
def test_results_are_pytorchs(program):
    from twins import outcome
    import torch

    if isinstance(outcome(program, torch), tuple):
        same(program, text="")
    else:
        close(program)


def test_chain_matmul():
    a, b, c = shunt.ones(2, 3), shunt.ones(3, 4), shunt.ones(4, 5)
    assert shunt.equal(shunt.chain_matmul(a, b, c), a @ b @ c) and shunt.chain_matmul(a) is a


def test_gradients_go_through():
    def of_gradient(L):
        y = x(L).requires_grad_()
        (L.gradient(y, edge_order=2)[0] ** 2).sum().backward()
        return y.grad

    def of_mode(L):
        y = L.tensor([1.0, 3.0, 3.0], requires_grad=True)
        y.mode().values.backward()
        return y.grad

    close(of_gradient)
    close(of_mode)


def test_out():
    out = shunt.empty(0)
    assert shunt.histc(shunt.ones(3), 2, out=out) is out and out.tolist() == [0.0, 3.0]
    values, places = shunt.empty(0), shunt.empty(0, dtype=shunt.int64)
    shunt.mode(shunt.tensor([1.0, 1.0, 0.0]), out=(values, places))
    assert (values.item(), places.item()) == (1.0, 1)


def test_draws_without_end_take_no_memory():
    from itertools import islice

    from shunt.utils.data import RandomSampler
    drawn = list(islice(RandomSampler([0, 0, 0], replacement=True, num_samples=10**10), 100))
    assert len(drawn) == 100 and set(drawn) == {0, 1, 2}
    assert len(list(RandomSampler([0, 0, 0], replacement=True, num_samples=35))) == 35


def test_no_accelerator_is_there():
    from shunt import accelerator
    assert accelerator.is_available() == shunt.cuda.is_available() and accelerator.device_count() == shunt.cuda.device_count()
    if not accelerator.is_available():
        assert accelerator.current_accelerator() is None
        with pytest.raises(RuntimeError, match="accelerator"):
            accelerator.synchronize()


def test_onnx_is_refused():
    import shunt.onnx
    with pytest.raises(NotImplementedError, match="writes no ONNX files"):
        shunt.onnx.export(shunt.nn.Linear(1, 1), (shunt.ones(1),), "x.onnx")
