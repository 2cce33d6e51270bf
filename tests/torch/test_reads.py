"""Values that leave tensors: bools read first are guards in the middle of a replay, all others are refused with the line."""

import math

import pytest
import shunt_torch
import torch
from capturing import check_captured, program, refusal_of, same_as_eager


def calls_item(x):
    return x * x.sum().item()


def calls_float(x):
    return x * float(x[0])


def calls_int(x):
    return x * int(x[0])


def calls_tolist(x):
    return x * x.tolist()[0]


def calls_numpy(x):
    return x * x.numpy().shape[0]


def calls_print(x):
    print(x)


def calls_repr(x):
    return len(f"{x}")


def calls_data_ptr(x):
    return x.data_ptr()


def calls_storage(x):
    return x.untyped_storage().nbytes()


def calls_nonzero(x):
    return x.nonzero()


def calls_mask(x):
    return x[x > 0]


def calls_unique(x):
    return x.unique()


def calls_index_of_a_list(x):
    return [1, 2, 3][x[0].long()]


def loops_over_a_value(x):
    while x.sum() > x[0].item():
        x = x / 2
    return x


REFUSED = {
    calls_item: "aten::_local_scalar_dense gives Python the value",
    calls_float: "aten::_local_scalar_dense gives Python the value",
    calls_int: "aten::_local_scalar_dense gives Python the value",
    calls_tolist: "Tensor.tolist() gives away what a recorder can't follow",
    calls_numpy: "Tensor.numpy() gives away",
    calls_print: "calls print",
    calls_repr: "Tensor.__format__() gives away",
    calls_data_ptr: "Tensor.data_ptr() gives away",
    calls_storage: "Tensor.untyped_storage() gives away",
    calls_nonzero: "the size of aten::nonzero's result depends on values",
    calls_mask: "the size of aten::",
    calls_unique: "the size of aten::_unique2's result depends on values",
    calls_index_of_a_list: "aten::_local_scalar_dense gives Python the value",
    loops_over_a_value: "aten::_local_scalar_dense gives Python the value",
}


@pytest.mark.parametrize("step", REFUSED)
def test_refused(step, capsys):
    captured = shunt_torch.capture(step)
    x = torch.tensor([1.0, 1.0, 1.0])
    expected = step(x)
    for _ in range(4):
        assert str(captured(x)) == str(expected)
    reason = captured._given_up or str(captured._refusal)
    assert not captured._recordings and REFUSED[step] in reason, reason
    line = step.__code__.co_firstlineno + 1
    assert f"test_reads.py:{line}" in reason, reason


def abandons(x):
    if (x > 0).all():
        return x * 2
    return x - 1


def abandons_before_writes(x, out):
    y = x.exp()
    if torch.equal(x, out):
        out.add_(y)
        return y
    out.sub_(y)
    return torch.rand(2)


def abandons_after_two(x):
    if x.sum() > 0:
        if x[0] > 0:
            return x + 1
        return x + 2
    return x + 3


def test_bools():
    def drive(p):
        signs = [1, 1, 1, 1, 1, 1, -1, -1, 1, -1, 1, 1, -1, -1, -1]
        return [p.step(torch.ones(3) * s) for s in signs]

    captured = check_captured(same_as_eager(lambda: program(abandons), drive), 8)
    assert len(captured._recordings) == 2
    assert sum(r.abandoned for r in captured._recordings) > 0


def test_bools_before_writes():
    def make():
        return program(abandons_before_writes, out=torch.zeros(2))

    def drive(p):
        out = []
        for i in range(24):
            x = p.out.clone() if i % 5 else torch.ones(2)
            out.append((p.step(x, p.out), p.out.clone(), p.out._version))
        return out

    check_captured(same_as_eager(make, drive), 8)


def test_bools_in_a_row():
    def drive(p):
        out = []
        for i in range(40):
            x = torch.tensor([[1.0, 2.0], [-1.0, 3.0], [-1.0, -1.0]][i % 3])
            out.append(p.step(x))
        return out

    captured = check_captured(same_as_eager(lambda: program(abandons_after_two), drive), 20)
    assert len(captured._recordings) == 3


def test_bools_beyond_max_recordings():
    def drive(p):
        return [p.step(torch.ones(3) * s) for s in [1, 1, 1, 1, -1, 1, -1, -1, 1, 1]]

    captured = same_as_eager(lambda: program(abandons), drive, max_recordings=1)
    assert len(captured._recordings) == 1
    assert "it was recorded 1 times" in captured._given_up


def test_grads_are_as_before_where_a_bool_ends_a_replay():
    def make():
        model = torch.nn.Linear(2, 1)

        def step(x):
            model.zero_grad()
            if (x > 0).all():
                x = x * 2
            model(x).sum().backward()
            return [w.grad for w in model.parameters()]

        return program(step)

    def drive(p):
        return [p.step(torch.ones(3, 2) * s) for s in [1, 1, 1, 1, -1, 1, -1, -1, 1, 1]]

    check_captured(same_as_eager(make, drive), 4)


def reads_after_a_write(x, out):
    out.add_(1)
    if (x > 0).all():
        return x * 2
    return x


def reads_after_a_draw(x):
    y = torch.rand(3)
    if (x > 0).all():
        return y * 2
    return y - torch.rand(1)


def test_later_bools_are_refused():
    reason = refusal_of(reads_after_a_write, torch.ones(3), torch.zeros(3))
    assert "gives Python the value True after memory from outside was written" in reason
    assert f"test_reads.py:{reads_after_a_write.__code__.co_firstlineno + 2}" in reason


def test_bools_after_draws():
    def drive(p):
        return [(p.step(torch.ones(3) * s), torch.rand(1)) for s in [1, 1, 1, 1, 1, 1, -1, -1, 1, -1, 1, 1, -1, -1, -1]]

    check_captured(same_as_eager(lambda: program(reads_after_a_draw), drive), 8)


def test_arguments_of_distributions_are_validated():
    def step(mean, value):
        return torch.distributions.Normal(mean, 1.0).log_prob(value)

    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile switches it off

    def drive(p):
        out = [p.step(torch.randn(3), torch.randn(3)) for _ in range(8)]
        for _ in range(2):
            with pytest.raises(ValueError, match="to satisfy the constraint"):
                p.step(torch.full((3,), float("nan")), torch.randn(3))
        return out + [p.step(torch.randn(3), torch.randn(3)) for _ in range(3)]

    captured = same_as_eager(lambda: program(step), drive)
    assert captured._recordings, captured.explain()


def test_whether_distributions_validate():
    def step(mean, value):
        return torch.distributions.Normal(mean, 1.0).log_prob(value)

    def drive(p):
        nan = torch.full((3,), float("nan"))
        kind = torch.distributions.Distribution
        kind.set_default_validate_args(False)
        try:
            out = [p.step(nan, torch.randn(3)) for _ in range(6)]
        finally:
            kind.set_default_validate_args(True)
        with pytest.raises(ValueError, match="to satisfy the constraint"):
            p.step(nan, torch.randn(3))
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 3)


def test_hidden_writes():
    """Memory that is written by no operator, here through an array, is no recording's."""
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(3, dtype=numpy.float32)
    b = torch.from_numpy(array)

    class Writes:
        def __index__(self):
            array[:] += 1
            return 0

    writes = Writes()

    def step(x):
        y = x[writes.__index__()] + 1
        return y + b

    def drive(p):
        array[:] = 0
        return [p.step(torch.ones(3)) for _ in range(8)]

    captured = same_as_eager(lambda: program(step), drive)
    assert not captured._recordings, captured.explain()


# --- what tensors are besides their elements ---


def test_where_a_tensor_begins_is_guarded_if_asked_for():
    base = torch.arange(20.0)
    for step in (lambda x: x * x.storage_offset(), lambda x: x * x[1:].storage_offset()):
        p = shunt_torch.capture(step, check="never")
        for i in (0, 0, 0, 0, 4, 8, 4):
            assert p(base[i : i + 4]).tolist() == step(base[i : i + 4]).tolist()
        assert sum(r.runs for r in p._recordings) > 0 and len(p._recordings) == 3
    p = shunt_torch.capture(lambda x: x * 2, check="never")
    for i in (0, 0, 0, 0, 4, 8, 4):
        p(base[i : i + 4])
    assert len(p._recordings) == 1


def applies(x):
    y = x.clone()
    y.apply_(lambda v: v if v > 0 else 0.0)
    return y * 1


def maps(x):
    y = x.clone()
    y.map_(x, lambda a, b: a)
    return y * 1


def maps_two(x):
    y = x.clone()
    y.map2_(x, x, lambda a, b, c: a)
    return y * 1


@pytest.mark.parametrize(
    "step, name",
    [
        (applies, "apply_"), (maps, "map_"), (maps_two, "map2_"),
        (lambda x: x * (2 if x._base is None else 3), "_base"),
        (lambda x: x * (2 if x.is_shared() else 3), "is_shared"),
        (lambda x: x * (2 if x._is_view() else 3), "_is_view"),
        (lambda x: x * x._version, "_version"),
        (lambda x: x * (x._cdata % 2), "_cdata"),
        (lambda x: x * x._typed_storage()._size(), "_typed_storage"),
        (lambda x: x * (id(x) % 7), "by id()"),
    ],
)  # fmt: skip
def test_attributes_that_another_calls_tensor_need_not_have(step, name):
    assert name in refusal_of(step, torch.ones(3)) and f"`" in refusal_of(step, torch.ones(3))


def test_the_graph_of_an_input():
    w = torch.ones(3, requires_grad=True)

    def step(x):
        return x * (2 if type(x.grad_fn).__name__.startswith("Add") else 3)

    with torch.no_grad():
        x = w.detach()
    with torch.enable_grad():
        x = w + 1
    with torch.no_grad():
        assert "grad_fn" in refusal_of(step, x)
    assert check_captured(same_as_eager(lambda: program(lambda x: x * (2 if x.grad_fn is None else 3)),
                                        lambda p: [p.step(torch.ones(3)) for _ in range(6)]))


def test_dicts_keyed_by_tensors():
    assert "keys of the result" in refusal_of(lambda x: {x: x * 2}, torch.ones(3))
    assert "keys of the result[0]" in refusal_of(lambda x: [{(1, x): x * 2}], torch.ones(3))
    assert "keys of dicts among the arguments" in refusal_of(lambda d: [x * 2 for x in d.values()], {torch.ones(3): torch.ones(3)})
    p = same_as_eager(lambda: program(lambda x: {1: x, "a": x * 2, (1, None): x}), lambda p: [p.step(torch.ones(3)) for _ in range(6)])
    check_captured(p)


def test_a_refusal_keeps_no_frames():
    """In PyTorch's frame that prints a tensor a guard waits for its end, which switches torch.func back on."""
    one = torch.tensor(1.0)
    captured = shunt_torch.capture(lambda mean: torch.distributions.Normal(mean, one, validate_args=True).mean * 2)
    keys = str(torch._C._dispatch_tls_local_exclude_set())
    for value in (0.0, 0.0, math.nan):
        try:
            captured(torch.full((3,), value))
        except ValueError:
            pass
    assert str(torch._C._dispatch_tls_local_exclude_set()) == keys
    assert torch.func.grad(lambda x: (x * 2).sum())(torch.ones(2)).tolist() == [2, 2]
