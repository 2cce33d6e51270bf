"""Factors, solutions, inverses and determinants against PyTorch's."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from twins import same  # noqa: E402

GENERATOR = np.random.default_rng(0)
SHAPES = [(1, 1), (2, 2), (5, 5), (3, 4, 4), (2, 2, 3, 3), (0, 0)]


def pair(array, requires_grad=False):
    return tuple(m.from_numpy(array.copy()).requires_grad_(requires_grad) for m in (shunt, torch))


def positive_definite(shape):
    a = GENERATOR.standard_normal(shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def assert_same(function, *arrays):
    ours, theirs = zip(*(pair(a, True) for a in arrays))
    results = [function(module.linalg, *given) for module, given in ((shunt, ours), (torch, theirs))]
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in results)):
        assert str(a.dtype) == str(b.dtype).replace("torch", "shunt")
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)
    totals = [
        sum(
            (r * (r.detach() + 0.5)).sum()
            for r in (result if isinstance(result, tuple) else (result,))
            if r.requires_grad
        )
        for result in results
    ]
    if arrays[0].size:
        for a, b in zip(shunt.autograd.grad(totals[0], ours), torch.autograd.grad(totals[1], theirs)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_of_a_matrix(shape):
    definite, general = positive_definite(shape), GENERATOR.standard_normal(shape) + 2 * np.eye(shape[-1])[::-1]
    for upper in (False, True):
        assert_same(lambda L, a: L.cholesky(a, upper=upper), definite)
    for name in ("inv", "det", "slogdet"):
        assert_same(lambda L, a: getattr(L, name)(a), general)


@pytest.mark.parametrize("shape", SHAPES)
def test_solutions(shape):
    general = GENERATOR.standard_normal(shape) + 2 * np.eye(shape[-1])[::-1]
    right = GENERATOR.standard_normal((*shape[:-1], 2))
    assert_same(lambda L, a, b: L.solve(a, b), general, right)
    assert_same(lambda L, a, b: L.solve(a, b), general, right[..., 0])
    assert_same(lambda L, a, b: L.solve(a, b.mT, left=False), general, right)
    triangular = general + 3 * np.eye(shape[-1])
    for upper in (False, True):
        for unit in (False, True)[: shape[-1]]:  # one by one, the result depends on the right side alone
            assert_same(lambda L, a, b: L.solve_triangular(a, b, upper=upper, unitriangular=unit), triangular, right)
        assert_same(lambda L, a, b: L.solve_triangular(a, b.mT, upper=upper, left=False), triangular, right)


def test_batches_broadcast():
    a, b = GENERATOR.standard_normal((3, 1, 2, 2)), GENERATOR.standard_normal((4, 2, 5))
    assert_same(lambda L, a, b: L.solve(a, b), a, b)
    assert_same(lambda L, a, b: L.solve_triangular(a, b, upper=True), a + 2 * np.eye(2), b)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.linalg.inv(L.ones(2, 3)),
        lambda L: L.linalg.inv(L.ones(2)),
        lambda L: L.linalg.det(L.ones(2, 2, dtype=L.int64)),
        lambda L: L.linalg.solve(L.eye(2), L.ones(3)),
    ],
)
def test_errors_are_pytorchs(program):
    same(program, text="linalg")


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.linalg.cholesky(-L.eye(2)),
        lambda L: L.linalg.cholesky(L.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])),
        lambda L: L.linalg.inv(L.zeros(2, 2)),
        lambda L: L.linalg.solve(L.ones(2, 2), L.ones(2)),
    ],
)
def test_what_has_no_factor_is_a_linalg_error(program):
    with pytest.raises(torch.linalg.LinAlgError) as theirs:
        program(torch)
    with pytest.raises(shunt.linalg.LinAlgError) as ours:
        program(shunt)
    # What we append is the way from operator to operator.
    assert str(ours.value).split(" (in aten::")[0] == str(theirs.value)


def test_results_of_matrices_without_a_factor():
    assert shunt.linalg.cholesky_ex(shunt.tensor([[1.0, 2.0], [2.0, 1.0]])).info.item() == 2
    assert shunt.linalg.det(shunt.ones(3, 3)).item() == 0
    assert issubclass(shunt.linalg.LinAlgError, RuntimeError)


def test_info_in_place_of_errors():
    matrices = np.stack([np.eye(2), np.ones((2, 2))])
    for module in (shunt, torch):
        a = module.from_numpy(matrices.copy())
        for result in (module.linalg.inv_ex(a), module.linalg.solve_ex(a, a)):
            assert result.info.tolist() == [0, 2] and result.info.dtype is module.int32
            assert result[0][0].tolist() == matrices[0].tolist()
        for function in (module.linalg.inv_ex, lambda a, **more: module.linalg.solve_ex(a, a, **more)):
            with pytest.raises(module.linalg.LinAlgError, match="Batch element 1"):
                function(a, check_errors=True)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
def test_float32_strides_and_layouts(shape):
    """Results lie in memory as PyTorch's do; operands may lie in any way."""
    array = (GENERATOR.standard_normal(shape) + 4 * np.eye(shape[-1])).astype(np.float32)
    right = GENERATOR.standard_normal(shape).astype(np.float32)
    pairs = (1,) * len(shape) + (2,)
    for turn in (lambda t: t, lambda t: t.mT, lambda t: t.unsqueeze(-1).repeat(pairs)[..., 0]):
        for function in (
            lambda L, a, b: L.inv(a),
            lambda L, a, b: L.cholesky(a @ a.mT),
            lambda L, a, b: L.solve(a, b),
            lambda L, a, b: L.solve(a, b, left=False),
            lambda L, a, b: L.solve_triangular(a, b, upper=True),
            lambda L, a, b: L.solve_triangular(a, b, upper=False, left=False),
        ):
            ours, theirs = (
                function(m.linalg, *(turn(m.from_numpy(given)) for given in (array, right))) for m in (shunt, torch)
            )
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4, atol=2e-5)
            assert ours.stride() == theirs.stride()


def test_out():
    a = shunt.from_numpy(positive_definite((3, 3)))
    b = shunt.ones(3, 2, dtype=shunt.float64)
    for function, given in (("inv", (a,)), ("det", (a,)), ("cholesky", (a,)), ("solve", (a, b))):
        out = shunt.empty(0, dtype=shunt.float64)
        assert getattr(shunt.linalg, function)(*given, out=out) is out
        assert out.tolist() == getattr(shunt.linalg, function)(*given).tolist()


def test_second_derivatives():
    a, b = positive_definite((3, 3)), GENERATOR.standard_normal((3, 2))
    for function in (
        lambda L, a, b: L.det(a),
        lambda L, a, b: L.slogdet(a)[1],
        lambda L, a, b: L.inv(a),
        lambda L, a, b: L.cholesky(a),
        lambda L, a, b: L.solve(a, b),
        lambda L, a, b: L.solve_triangular(a, b, upper=True),
    ):
        seconds = []
        for module in (shunt, torch):
            x, y = (module.from_numpy(t.copy()).requires_grad_() for t in (a, b))
            (first,) = module.autograd.grad((function(module.linalg, x, y) ** 3).sum(), x, create_graph=True)
            (second,) = module.autograd.grad((first**2).sum(), x)
            seconds.append(second.numpy())
        np.testing.assert_allclose(*seconds, rtol=1e-7, atol=1e-7 * np.abs(seconds[1]).max())


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 1], [0, 1]],
        [[1, 2], [2, 4]],
        [[0, 0], [0, 0]],
        [[0, 2, 1], [0, 4, 3], [0, 1, 1]],
        [[1, 2, 3], [2, 4, 6], [1, 2, 5]],
    ],
)
def test_the_gradient_of_a_singular_matrixs_determinant(matrix):
    """The cofactors. PyTorch gives zeros."""
    a = shunt.tensor(matrix, dtype=shunt.float64, requires_grad=True)
    (grad,) = shunt.autograd.grad(shunt.linalg.det(a), a)
    places = range(len(matrix))
    for i in places:
        for j in places:
            minor = [[matrix[r][c] for c in places if c != j] for r in places if r != i]
            assert grad[i, j].item() == pytest.approx((-1) ** (i + j) * np.linalg.det(minor), abs=1e-9)


def test_vmap_goes_through():
    from shunt.func import vmap

    a = shunt.from_numpy(positive_definite((3, 4, 4)))
    for function in (shunt.linalg.cholesky_ex, shunt.linalg.det):
        ours, expected = vmap(function)(a), function(a)
        assert shunt.allclose(
            ours[0] if isinstance(ours, tuple) else ours, expected[0] if isinstance(expected, tuple) else expected
        )


def test_vmap_of_solutions():
    """Batches before the dimensions that a sample's operands have, whichever of them has a batch."""
    from shunt.func import vmap

    a = shunt.from_numpy(positive_definite((4, 3, 3)))
    many = shunt.from_numpy(positive_definite((4, 2, 3, 3)))
    b = shunt.from_numpy(GENERATOR.standard_normal((4, 3)))
    B = shunt.from_numpy(GENERATOR.standard_normal((4, 3, 2)))
    solve = shunt.linalg.solve

    def triangular(x, y):
        return shunt.linalg.solve_triangular(x, y, upper=True)

    for function, x, y in ((solve, a, b), (solve, a, B), (solve, many, b), (solve, many, B), (triangular, many, B)):
        for dims in ((0, 0), (0, None), (None, 0)):
            x1, y1 = (t if d == 0 else t[0] for t, d in zip((x, y), dims))
            rows = [function(*(t[i] if d == 0 else t for t, d in zip((x1, y1), dims))) for i in range(4)]
            assert shunt.allclose(vmap(function, dims)(x1, y1), shunt.stack(rows))
    assert vmap(shunt.linalg.solve_ex, (None, 0))(a[0], B).info.shape == (4,)


def test_fake_and_meta_shapes():
    a, b = shunt.empty(2, 3, 3, device="meta"), shunt.empty(2, 3, 4, device="meta")
    assert shunt.linalg.solve(a, b).shape == (2, 3, 4) and shunt.linalg.inv(a).stride() == (9, 1, 3)
    assert shunt.linalg.det(a).shape == (2,) and shunt.linalg.cholesky(a).is_meta
