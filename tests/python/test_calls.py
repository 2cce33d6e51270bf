"""How calls are parsed: overloads, keywords, defaults, out=, messages."""

import pytest

import shunt


def ones(*sizes, **options):
    return shunt.ones(*sizes, **options)


def test_overloads_are_chosen_by_what_is_given():
    x = shunt.full((2, 3), 2.0)
    assert (x + x).tolist() == [[4.0] * 3] * 2
    assert shunt.add(x, 1).tolist() == [[3.0] * 3] * 2
    assert shunt.add(x, x, alpha=2).tolist() == [[6.0] * 3] * 2
    assert x.sum().item() == 12.0
    assert x.sum(0).tolist() == [4.0] * 3
    assert x.sum(dim=(0, 1), keepdim=True).shape == (1, 1)
    assert x.max().item() == 2.0
    values, indices = x.max(1)
    assert values.tolist() == [2.0, 2.0] and indices.dtype is shunt.int64


def test_results_with_names():
    result = shunt.arange(3.0).max(0)
    assert result.values.item() == 2.0 and result.indices.item() == 2
    assert type(result).__name__ == "max" and type(result).__module__ == "shunt.return_types"


def test_sizes_may_be_separate_ints():
    assert ones(2, 3).shape == ones((2, 3)).shape == ones([2, 3]).shape == ones(size=(2, 3)).shape == (2, 3)
    assert ones(()).shape == ()
    assert ones(6).view(2, 3).shape == (2, 3)
    assert ones(2, 3).permute(1, 0).shape == (3, 2)


@pytest.mark.parametrize("name", ["dim", "axis"])
def test_numpy_names(name):
    assert ones(2, 3).sum(**{name: 1}).tolist() == [3.0, 3.0]
    assert shunt.sum(input=ones(2), **{name: 0}).item() == shunt.sum(x=ones(2), **{name: 0}).item() == 2.0


def test_out_is_the_result():
    out = shunt.empty(0)
    result = shunt.add(ones(3), ones(3), out=out)
    assert result is out and out.tolist() == [2.0] * 3
    assert shunt.add(ones(3), ones(3), out=None).tolist() == [2.0] * 3
    values, indices = shunt.empty(0), shunt.empty(0, dtype=shunt.int64)
    result = shunt.max(ones(2, 3), 1, out=(values, indices))
    assert result[0] is values and result.indices is indices


def test_in_place_returns_the_same_object():
    x = ones(3)
    y = x
    assert x.add_(1) is y
    x += 1
    assert x is y and x.tolist() == [3.0] * 3
    assert x._version == 2


def test_factories_take_requires_grad():
    assert ones(2, requires_grad=True).requires_grad
    assert shunt.zeros(2, dtype=shunt.float64, requires_grad=True).dtype is shunt.float64


def test_a_number_counts_as_one_in_promotion():
    assert (ones(2, dtype=shunt.float32) + 1.5).dtype is shunt.float32
    assert (ones(2, dtype=shunt.int32) + 1).dtype is shunt.int32
    assert (ones(2, dtype=shunt.int32) + 1.5).dtype is shunt.float32
    assert (ones(2, dtype=shunt.bool) + True).dtype is shunt.bool
    assert (ones(2, dtype=shunt.bfloat16) + 1.5).dtype is shunt.bfloat16


@pytest.mark.parametrize("call, name, grad", [
    (lambda x: x + 1, "AddBackward0", 1.0), (lambda x: 1 + x, "AddBackward0", 1.0),
    (lambda x: x - 1, "SubBackward0", 1.0),
    (lambda x: x * 2, "MulBackward0", 2.0), (lambda x: x / 2, "DivBackward0", 0.5),
    (lambda x: 1 - x, "RsubBackward1", -1.0),
    (lambda x: x % 2, "RemainderBackward0", 1.0), (lambda x: x ** 2, "PowBackward0", 2.0),
    (lambda x: shunt.true_divide(x, 2), "DivBackward0", 0.5), (lambda x: x.clone().mul_(3), "MulBackward0", 3.0),
])
def test_nodes_have_pytorchs_names(call, name, grad):
    x = ones(2, requires_grad=True)
    y = call(x)
    assert y.grad_fn.name() == name and f"<{name}" in repr(y.grad_fn) and f"grad_fn=<{name}>" in repr(y)
    y.sum().backward()
    assert x.grad.tolist() == [grad] * 2


@pytest.mark.parametrize("call, error, parts", [
    (lambda: shunt.add(1, 2, 3, 4), TypeError, ["add()"]),
    (lambda: shunt.add(ones(2), "a"), TypeError, ["add()", "'other' (position 2)", "Tensor", "str", "Number"]),
    (lambda: shunt.mm(ones(2, 2)), TypeError, ["mm()", "missing required argument 'mat2'"]),
    (lambda: shunt.mm(ones(2, 2), 3), TypeError, ["mm()", "'mat2' (position 2) must be Tensor, not int"]),
    (lambda: shunt.mm(ones(2, 2), mat3=ones(2, 2)), TypeError, ["unexpected keyword argument "
                                                                "'mat3'", "did you mean 'mat2'"]),
    (lambda: shunt.mm(ones(2, 2), ones(2, 2), mat2=ones(2, 2)), TypeError, ["multiple values for argument 'mat2'"]),
    (lambda: shunt.relu(), TypeError, ["relu()", "missing required argument 'input'"]),
    (lambda: shunt.relu(ones(2), 1), TypeError, ["relu() takes 1 positional argument but 2 were given"]),
    (lambda: shunt.zeros((2, "a")), TypeError, ["zeros()", "size"]),
    (lambda: ones(2).sum(dim=1.5), TypeError, ["sum()", "'dim'", "float"]),
    (lambda: ones(2).sum(5), IndexError, ["range"]),
    (lambda: ones(2, 3) @ ones(2, 3), RuntimeError, ["2", "3"]),
    (lambda: shunt.zeros(2, dtype="float32"), TypeError, ["dtype", "str"]),
    (lambda: shunt.zeros(2**70), OverflowError, ["64 bits"]),
    (lambda: ones(2) + "a", TypeError, ["unsupported operand"]),
    (lambda: ones(2) < None, TypeError, ["not supported between"]),
])
def test_messages(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_equality_with_other_types():
    assert (ones(1) == None) is False  # noqa: E711
    assert (ones(1) != "a") is True


def test_reflected_operators():
    x = shunt.full((2,), 4.0)
    assert (1 - x).tolist() == [-3.0] * 2
    assert (1 / x).tolist() == [0.25] * 2
    assert (2 ** x).tolist() == [16.0] * 2
    assert (9 // x).tolist() == [2.0] * 2
    assert (9 % x).tolist() == [1.0] * 2
    assert (True & (x > 1)).tolist() == [True] * 2


class Clearing:
    """An index that takes everything out of a list while the call that it is for reads its arguments."""

    def __init__(self, values):
        self.values = values

    def __index__(self):
        self.values.clear()
        return 2


def test_a_list_may_change_while_a_call_reads_it():
    sizes = [2]
    sizes += [Clearing(sizes), 3]
    assert ones(sizes).shape == (2, 2, 3)
    outputs = [shunt.empty(3), shunt.empty(3, dtype=shunt.int64)]
    values, _ = outputs
    assert shunt.max(shunt.arange(9.0).view(3, 3), 1, out=outputs).values is values
    held = list(outputs)
    result = shunt.max(ones(3, 3, 3), Clearing(outputs), out=outputs)
    assert outputs == [] and result.values is held[0] and result.indices is held[1]
