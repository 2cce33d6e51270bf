"""Functions that take a number in the first tensor's place, against PyTorch's."""

import pytest

pytest.importorskip("torch")

from twins import close, same  # noqa: E402


@pytest.mark.parametrize("name", ["add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide",
                                  "floor_divide", "remainder"])
def test_number_first(name):
    for number in (2, 2.5) if name.startswith("sub") else (2, 2.5, True):
        close(lambda L: getattr(L, name)(number, L.tensor([3.0, 5.0])))
        close(lambda L: getattr(L, name)(number, L.tensor([3, 5])))
    if name != "remainder":
        close(lambda L: getattr(L, name)(7, other=L.tensor([3.0, 5.0]), out=L.zeros(2)))
        close(lambda L: getattr(L, name)(input=7, other=L.tensor([3.0, 5.0])))
    same(lambda L: getattr(L, name)(7, "a"), text=name + "()")
    same(lambda L: getattr(L, name)(7, L.ones(2), nothing=1), text=name + "()")


def test_number_first_more():
    close(lambda L: L.mul(7, 2))
    close(lambda L: L.div(7, 2))
    same(lambda L: L.remainder(7, 2), text="received an invalid combination of arguments")
    close(lambda L: L.sub(2, L.tensor([3.0, 5.0]), alpha=3))
    close(lambda L: L.div(7, L.tensor([3.0, 5.0]), rounding_mode="floor"))
    close(lambda L: L.div(7, L.tensor([3.0, 5.0]), rounding_mode="trunc", out=L.zeros(2)))
    close(lambda L: L.func.grad(lambda t: L.div(2, t).sum())(L.tensor([1.0, 4.0])))
    close(lambda L: L.vmap(lambda t: L.mul(2, t))(L.ones(3)))
