"""gradcheck and gradgradcheck: right gradients pass, wrong ones don't, as with PyTorch's."""

import pytest

import shunt
from twins import outcome, same, torch


def doubles(lib, *values):
    return lib.tensor(values or (0.5, 1.5, -0.7), dtype=lib.float64, requires_grad=True)


def square_with(lib, backward):
    """x * x with this backward."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    body = {"forward": staticmethod(forward),
            "backward": staticmethod(lambda ctx, g: backward(ctx.saved_tensors[0], g))}
    return type("Square", (lib.autograd.Function,), body).apply


RIGHT = [
    lambda lib, check, **how: check(lambda x: x * x, doubles(lib), **how),
    lambda lib, check, **how: check(lambda x: x * x, [doubles(lib)], **how),
    lambda lib, check, **how: check(lambda x, y: (x * y, x.sin()), (doubles(lib), doubles(lib, 1.0, 2.0, 3.0)), **how),
    lambda lib, check, **how: check(lambda x, k: x * k, (doubles(lib), 3), **how),
    lambda lib, check, **how: check(lambda x, y: x * y, (doubles(lib), lib.ones(3, dtype=lib.float64)), **how),
    lambda lib, check, **how: check(lambda x: x.reshape(1, 3) @ x.reshape(3, 1), (doubles(lib),), **how),
    lambda lib, check, **how: check(lambda x: (x.exp(), x.detach() * 2), (doubles(lib),), **how),
    lambda lib, check, **how: check(square_with(lib, lambda x, g: 2 * x * g), (doubles(lib),), **how),
    lambda lib, check, **how: check(lambda x: x.exp().sum(), (doubles(lib, 0.3),), **how),
]


@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_right_gradients(number, fast_mode, check):
    same(lambda lib: RIGHT[number](lib, getattr(lib.autograd, check), fast_mode=fast_mode))
    assert RIGHT[number](shunt, getattr(shunt.autograd, check), fast_mode=fast_mode) is True


WRONG = [
    ("factor", lambda lib: square_with(lib, lambda x, g: 3 * x * g)),
    ("sign in one place",
     lambda lib: square_with(lib, lambda x, g: 2 * x * g * lib.tensor([1.0, 1.0, -1.0], dtype=lib.float64))),
    ("none", lambda lib: square_with(lib, lambda x, g: None)),
]


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name, make", WRONG, ids=[w[0] for w in WRONG])
def test_wrong_gradients(name, make, fast_mode):
    for lib in (shunt, torch):
        with pytest.raises(RuntimeError, match="Jacobian .*output 0 .*input 0"):
            lib.autograd.gradcheck(make(lib), (doubles(lib),), fast_mode=fast_mode)
        assert lib.autograd.gradcheck(make(lib), (doubles(lib),), raise_exception=False, fast_mode=fast_mode) is False


def test_wrong_second_derivatives():
    def program(lib):
        return lib.autograd.gradgradcheck(square_with(lib, lambda x, g: 2 * x.detach() * g), (doubles(lib),))

    for lib in (shunt, torch):
        assert lib.autograd.gradcheck(square_with(lib, lambda x, g: 2 * x.detach() * g), (doubles(lib),))
    same(program, text="Jacobian")


def test_backward_that_differs_from_run_to_run():
    def make(lib):
        runs = []

        def backward(x, g):
            runs.append(1)
            return 2 * x * g * (1 + 1e-7 * len(runs))

        return square_with(lib, backward)

    for lib in (shunt, torch):
        with pytest.raises(RuntimeError, match="not reentrant"):
            lib.autograd.gradcheck(make(lib), (doubles(lib),))
        assert lib.autograd.gradcheck(make(lib), (doubles(lib),), nondet_tol=1e-3)


def test_inputs_are_checked():
    same(lambda lib: lib.autograd.gradcheck(lambda x: x * 2, lib.ones(3)), text="requires_grad=True")
    same(lambda lib: lib.autograd.gradcheck(lambda x: x * 2, doubles(lib, 1.0).expand(3)), text="stride")
    with pytest.warns(UserWarning, match="not a double precision"):
        outcome(lambda lib: 0, shunt)
        shunt.autograd.gradcheck(lambda x: x * 2, shunt.ones(2, requires_grad=True), atol=1e-1, eps=1e-2)


def test_functions_of_nothing():
    same(lambda lib: lib.autograd.gradcheck(lambda x: x.detach() * 2, doubles(lib)), text="zero")
    same(lambda lib: lib.autograd.gradcheck(lambda x: lib.ones(2, dtype=lib.float64), doubles(lib)))


def test_what_is_not_there():
    with pytest.raises(NotImplementedError, match="forward mode"):
        shunt.autograd.gradcheck(lambda x: x, doubles(shunt), check_forward_ad=True)


def test_the_inputs_are_as_before():
    x = doubles(shunt)
    before = x.tolist()
    shunt.autograd.gradcheck(lambda t: t.exp(), x)
    shunt.autograd.gradcheck(lambda t: t.exp(), x, fast_mode=True)
    assert x.tolist() == before and x.grad is None
