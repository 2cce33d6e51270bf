"""What captured functions are given that they can't take, or take in another way: the right result or a clear refusal."""

import pytest
import shunt_torch
import torch
from capturing import check_captured, model_and_optimizer, program, recordings, refusal_of, same_as_eager, state_of


def doubled(x):
    return x * 2


class Sub(torch.Tensor):
    pass


class Wrapper(torch.Tensor):
    """A subclass around a tensor, whose own memory is none."""

    @staticmethod
    def __new__(cls, inner):
        out = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        out.inner = inner
        return out

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        unwrapped = [a.inner if isinstance(a, Wrapper) else a for a in args]
        return Wrapper(func(*unwrapped, **(kwargs or {})))


def quantized():
    return torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)


REFUSED = {
    "meta": (lambda: torch.ones(3, device="meta"), "args[0] is on meta, and only tensors of the CPU can be captured"),
    "sparse": (lambda: torch.eye(3).to_sparse(), "args[0] has layout torch.sparse_coo, and only strided tensors can be captured"),
    "csr": (lambda: torch.eye(3).to_sparse_csr(), "args[0] has layout torch.sparse_csr, and only strided tensors can be captured"),
    "mkldnn": (lambda: torch.ones(3).to_mkldnn(), "args[0] has layout torch._mkldnn, and only strided tensors can be captured"),
    "subclass": (lambda: torch.ones(3).as_subclass(Sub), "args[0] is a Sub, and subclasses of Tensor can't be captured"),
    "wrapper": (lambda: Wrapper(torch.ones(3)), "args[0] is a Wrapper, and subclasses of Tensor can't be captured"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refused(name):
    make, reason = REFUSED[name]
    assert reason in refusal_of(doubled, make())


@pytest.mark.filterwarnings("ignore")
def test_refused_where_they_are_used():
    sparse, meta = torch.eye(3).to_sparse(), torch.ones(3, device="meta")
    assert "a torch.sparse_coo tensor is used, and only strided ones" in refusal_of(lambda x: torch.sparse.mm(sparse, x), torch.ones(3, 3))
    assert "on meta" in refusal_of(lambda x: x.to("meta") + meta, torch.ones(3))
    assert "a torch.sparse_coo tensor is made" in refusal_of(lambda x: x.to_sparse().to_dense(), torch.eye(3))
    assert "subclass of Tensor" in refusal_of(lambda x: x.as_subclass(Sub) * 2, torch.ones(3))


def test_tensors_that_are_not_used_do_not_matter():
    def make():
        p = program(None, unused=[torch.eye(3).to_sparse(), torch.ones(3, device="meta"), torch.ones(3).as_subclass(Sub)])
        p.step = lambda x: x * len(p.unused)
        return p

    check_captured(same_as_eager(make, lambda p: [p.step(torch.ones(3)) for _ in range(6)]), 3)


@pytest.mark.filterwarnings("ignore")
def test_quantized():
    captured = shunt_torch.capture(lambda x: x.dequantize() * 2)
    assert [captured(quantized()).tolist() for _ in range(6)] == [(quantized().dequantize() * 2).tolist()] * 6


def test_sparse_gradients_are_refused():
    table = torch.nn.Embedding(4, 2, sparse=True)

    def step(i):
        table.zero_grad()
        table(i).sum().backward()

    assert "torch.sparse_coo" in refusal_of(step, torch.tensor([1, 2]))

    def accumulates(i):
        table(i).sum().backward()

    assert "torch.sparse_coo" in refusal_of(accumulates, torch.tensor([1, 2]))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_dtypes(dtype):
    def step(x, y):
        z = x * y
        x.copy_(y)
        return z, z.sum(), x == y, torch.where(x == z, x, y)

    def drive(p):
        made = [((torch.randn(2, 5) * 3).to(dtype), torch.randn(5).to(dtype)) for _ in range(7)]
        return [(p.step(x, y), x) for x, y in made]

    check_captured(same_as_eager(lambda: program(step), drive), 4)


def chain(x):
    y = (x * 2 + 1).relu()
    return y, y.sum(), y.view(-1), y.t() if y.dim() == 2 else y, (y - 1).exp() @ y if y.dim() == 1 else y


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (2, 3), (1, 1), (70,)])
def test_shapes(shape):
    check_captured(same_as_eager(lambda: program(chain), lambda p: [p.step(torch.randn(shape)) for _ in range(7)]), 4)


def test_training_with_zero_elements():
    def drive(p):
        return [(p.step(torch.randn(n, 3)), state_of(p)) for n in [5] * 5 + [0] * 5 + [1] * 5 + [5] * 3]

    check_captured(same_as_eager(model_and_optimizer, drive), 8)


def test_sizes_that_change():
    def drive(p):
        return [p.step(torch.randn(n, 3)) for n in [5, 5, 5, 7, 7, 7, 5, 3, 7, 5, 3, 3]]

    captured = check_captured(same_as_eager(model_and_optimizer, drive), 5)
    assert recordings(captured) == 3

    def always_other(p):
        return [p.step(torch.randn(n, 3)) for n in range(1, 20)]

    captured = same_as_eager(model_and_optimizer, always_other, max_recordings=4)
    assert recordings(captured) == 4
    assert "it was recorded 4 times (max_recordings)" in captured._given_up and "sizes: expected" in captured._given_up


def test_minibatches():
    def make():
        p = model_and_optimizer()
        p.data = torch.randn(60, 3)
        return p

    def drive(p):
        return [(p.step(p.data[i : i + 5]), state_of(p)) for i in range(0, 60, 5)]

    captured = check_captured(same_as_eager(make, drive), 8)
    assert recordings(captured) == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda x: x[1:] + x[0],
        lambda x: x.as_strided((2,), (1,), 1) * 2,
        lambda x: x.as_strided((2,), (1,)) * 2,
        lambda x: x.view(torch.int64) + 1,
        lambda x: x.detach()[1:] * 2,
        lambda x: (x.mul_(2), x[2:])[1],
        lambda x: torch.as_strided(x.t(), (3,), (1,), 0) + 1,
        lambda x: x.data.add_(1),
        lambda x: x._base.sum() + x if x._base is not None else x + 1,
    ],
)
def test_slices(step):
    def drive(p):
        data = torch.arange(40.0)
        out = []
        for i in [0, 4, 8, 2, 6, 30, 0, 4, 1, 3]:
            try:
                out.append(p.step(data[i : i + 4]))
            except RuntimeError as error:
                out.append(str(error))
            out.append(data)
        return out + [p.step(torch.ones(4)) for _ in range(3)]

    same_as_eager(lambda: program(step), drive)


def test_strides_and_offsets():
    base = torch.arange(48.0).reshape(6, 8)

    def drive(p):
        views = [base[:3, :4], base.t()[:3, :4], base[3:, 4:], base[::2, ::2], base[:3, :4].expand(2, 3, 4)]
        return [p.step(v) for v in views for _ in range(5)]

    check_captured(same_as_eager(lambda: program(lambda x: (x * 2 + 1).contiguous() + x), drive), 10)


# In place and aliases.


def in_place(x, y):
    x.mul_(2).add_(y)
    y[0] = 7
    return x


def result_is_argument(x, y):
    return y, x


def result_is_view(x, y):
    return x[1:], x.view(-1), y.detach(), y.unsqueeze(0).squeeze(0)


def results_share(x, y):
    z = x * y
    return z, z[1:], z.t() if z.dim() == 2 else z.view(-1, 1), (z, z)


@pytest.mark.parametrize("step", [in_place, result_is_argument, result_is_view, results_share])
def test_aliases(step):
    def drive(p):
        out = []
        for i in range(8):
            x, y = torch.randn(4), torch.randn(4)
            results = p.step(x, y)
            results = results if isinstance(results, tuple) else (results,)
            flat = [r for r in results if isinstance(r, torch.Tensor)]
            same = [[a is b for b in (x, y, *flat)] for a in flat]
            out.append((results, x, y, same, [r._is_view() and (r._base is x or r._base is y) for r in flat]))
            flat[0].fill_(i)
            out.append((results, x, y, [t._version for t in (x, y, *flat)]))
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 5)


def test_a_grad_that_is_returned():
    def make():
        w = torch.ones(2, requires_grad=True)
        w.grad = torch.zeros(2)

        def step(x):
            (w * x).sum().backward()
            return x * 2, w.grad

        return program(step, w=w)

    def drive(p):
        out = [p.step(torch.ones(2) * i) for i in range(8)]
        assert all(grad is p.w.grad for _, grad in out)
        return out[-1]

    check_captured(same_as_eager(make, drive, check="never"), 5)


class Counted(tuple):
    """Makes something else of its elements."""

    def __new__(cls, items):
        return super().__new__(cls, (*items, len(items)))


class Named(tuple):
    pass


def test_classes_of_tuples():
    assert "Counted" in refusal_of(lambda x: Counted([x * 1, x * 2]), torch.ones(2))

    def with_attribute(scale):
        out = Named([torch.ones(2)])
        out.scale = scale
        return out

    assert "Named among the arguments has attributes" in refusal_of(lambda p: p[0] * p.scale, with_attribute(2.0))
    captured = same_as_eager(lambda: program(lambda p: p[0] * getattr(p, "scale", 1.0)),
                             lambda p: [p.step(Named([torch.ones(2)])) for _ in range(5)] + [p.step(with_attribute(3.0))], check="never")
    assert recordings(captured) == 1


@pytest.mark.parametrize("write", [False, True])
def test_storages_that_shrink(write):
    """as_strided() looks at memory beyond the tensor that it is called on."""
    big = torch.ones(1 << 16)
    captured = shunt_torch.capture(lambda x: x.as_strided((1 << 16,), (1,)).zero_() if write else x.as_strided((1 << 16,), (1,)).sum())
    for _ in range(6):
        captured(big[:4])
    assert recordings(captured) == 1
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        captured(torch.ones(4))


def test_nested_arguments():
    items = [torch.ones(2)]
    items.append(items)
    assert "nested more than 100 deep" in refusal_of(lambda items: items[0] * 2, items)
    items = [torch.ones(2)]
    for _ in range(200000):
        items = [items]
    assert "nested more than 100 deep" in refusal_of(lambda items: torch.ones(2), items)


def test_identity_of_lists_among_arguments():
    def step(a, b, c):
        return a[0] * (2 if a is b else 3 if a is c["a"] else 4)

    def drive(p):
        t = torch.ones(2)
        lists = [t], [t]
        return [p.step(lists[i], lists[j], {"a": lists[k]}) for i, j, k in [(0, 1, 1)] * 5 + [(0, 0, 1), (0, 1, 0), (1, 1, 1), (0, 1, 1)]]

    check_captured(same_as_eager(lambda: program(step), drive, check="never"), 2)
