"""What captured functions are given that they can't take, or take in another way: the right result or a clear refusal."""

import os
import subprocess
import sys
import threading

import pytest
import shunt_torch
import torch
from capturing import bits, check_captured, model_and_optimizer, program, recordings, refusal_of, replays, same_as_eager, state_of


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

    same_as_eager(make, drive)


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


# Errors.


def test_errors_before_anything_is_written():
    def step(table, index):
        return table[index] * 2

    def drive(p):
        out = []
        for i in [0, 1, 2, 1, 0, 9, 1, 9, 9, 0, 1]:
            try:
                out.append(p.step(torch.eye(3), torch.tensor([i])))
            except IndexError as error:
                out.append(str(error))
        return out

    captured = check_captured(same_as_eager(lambda: program(step), drive), 4)
    with pytest.raises(IndexError) as raised:
        captured(torch.eye(3), torch.tensor([9]))
    assert step.__code__.co_name in [t.name for t in raised.traceback]  # the function has raised it


def test_errors_in_the_middle_leave_what_was_written():
    def make():
        model, counter = torch.nn.Linear(3, 3), torch.zeros(3)

        def step(x, target):
            model.zero_grad()
            counter.add_(1)
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            with torch.no_grad():
                for w in model.parameters():
                    w.sub_(w.grad)
            counter.mul_(2)
            return loss.detach()

        return program(step, model=model, counter=counter)

    def drive(p):
        out = []
        for i in [0, 1, 2, 1, 0, 9, 1, 9, 9, 0, 1]:
            try:
                out.append(p.step(torch.ones(1, 3), torch.tensor([i])))
            except IndexError as error:
                out.append(str(error))
            parameters = list(p.model.parameters())
            out.append((parameters, [w.grad for w in parameters], p.counter, p.counter._version))
        return out

    check_captured(same_as_eager(make, drive), 4)


def test_handled_errors():
    def step(x):
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return x * 0

    def drive(p):
        return [p.step(torch.eye(3) * s) for s in [1, 2, 3, 4, 5, -1, 2, -1, 3, 4]]

    captured = check_captured(same_as_eager(lambda: program(step), drive), 4)
    assert sum(r.abandoned for r in captured._recordings) > 0

    def negative(p):
        return [p.step(torch.eye(3) * s) for s in [-1, -1, -1, -1, -1, -1, 2, 3, 4, 5, 6, 7, 8]]

    captured = same_as_eager(lambda: program(step), negative)
    assert "raises an error, which the function handles" in str(captured._refusal)


def test_errors_handled_after_writes_are_refused():
    counter = torch.zeros(3)

    def step(x):
        counter.add_(1)
        try:
            return torch.linalg.cholesky(x)
        finally:
            counter.add_(1)

    assert "may raise an error after something outside was changed, and the function handles errors" in refusal_of(step, torch.eye(3))


def test_errors_of_shapes():
    def drive(p):
        out = []
        for n in [3, 3, 3, 3, 3, 4, 3, 4]:
            try:
                out.append((p.step(torch.ones(2, n)), state_of(p)))
            except RuntimeError as error:
                out.append((str(error), state_of(p)))
        return out

    check_captured(same_as_eager(model_and_optimizer, drive), 2)


# Processes and threads.


def test_fork():
    captured = shunt_torch.capture(lambda x: (x * 2 + 1).exp())
    x = torch.ones(4)
    expected = [captured(x) for _ in range(6)][0]
    child = os.fork()
    if child == 0:
        ok = all(torch.equal(captured(x), expected) for _ in range(5))
        fresh = shunt_torch.capture(lambda x: x - 1)
        ok = ok and all(torch.equal(fresh(x), x - 1) for _ in range(6)) and len(fresh._recordings) == 1
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert torch.equal(captured(x), expected) and replays(captured) >= 4


@pytest.mark.parametrize("is_recorded", [False, True])
def test_threads(is_recorded):
    weight = torch.randn(8, 8)
    captured = shunt_torch.capture(lambda x: ((x @ weight).tanh() + x, torch.zeros(2)))
    wrong = []
    for _ in range(4 if is_recorded else 0):
        captured(torch.zeros(3, 8))

    def run(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(150):
            x = torch.randn(3, 8, generator=generator)
            if not torch.equal(captured(x)[0], (x @ weight).tanh() + x):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert recordings(captured) == 1 and not captured._given_up
    assert replays(captured) > 800 or not is_recorded, captured.explain()


def test_another_thread_records_meanwhile():
    inside, go_on = threading.Event(), threading.Event()

    class Waits(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            inside.set()
            go_on.wait(10)
            return x * 2

    captured = shunt_torch.capture(lambda x: Waits.apply(x))
    go_on.set()
    x = torch.ones(2)
    captured(x), captured(x)
    inside.clear(), go_on.clear()
    thread = threading.Thread(target=captured, args=(x,))
    thread.start()
    inside.wait(10)
    assert x.tolist() == [1, 1] and x.numpy().sum() == 2  # guarded methods are that thread's alone
    go_on.set()
    assert torch.equal(captured(x), x * 2)
    thread.join()


# Captures, transforms, compilers.


def test_capture_inside_capture():
    def make():
        w = torch.randn(3, 3)
        inner = shunt_torch.capture(lambda x: (x @ w).tanh())
        return program(lambda x: inner(x) + inner(x * 2), w=w)

    def drive(p):
        out = [p.step(torch.randn(2, 3)) for _ in range(9)]
        p.w.mul_(2)
        return out + [p.step(torch.randn(2, 3)) for _ in range(3)]

    check_captured(same_as_eager(make, drive), 6)


def test_a_function_that_calls_its_capture():
    @shunt_torch.capture
    def halves(x, n):
        return x if n == 0 else halves(x / 2, n - 1)

    for _ in range(8):
        assert torch.equal(halves(torch.ones(2), 3), torch.full((2,), 0.125))


def test_transforms():
    captured = shunt_torch.capture(lambda x: (x * 2).sin())
    x = torch.randn(4, 3)
    for _ in range(6):
        assert torch.equal(captured(x), (x * 2).sin())
    for _ in range(4):
        assert torch.equal(torch.vmap(captured)(x), (x * 2).sin())
        assert torch.equal(torch.func.grad(lambda v: captured(v).sum())(x), (x * 2).cos() * 2)
        assert torch.allclose(torch.func.jacrev(captured)(x[0]).diagonal(), (x[0] * 2).cos() * 2)
        primal, tangent = torch.func.jvp(captured, (x,), (torch.ones_like(x),))
        assert torch.equal(primal, (x * 2).sin()) and torch.allclose(tangent, (x * 2).cos() * 2)
    assert recordings(captured) == 1 and not captured._given_up


def test_a_captured_function_uses_transforms():
    def step(x):
        return torch.vmap(lambda v: v.sin() * v)(x)

    def drive(p):
        return [p.step(torch.randn(4, 3)) for _ in range(7)]

    same_as_eager(lambda: program(step), drive)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    captured = shunt_torch.capture(doubled)
    for _ in range(5):
        captured(torch.ones(3))
    with FakeTensorMode():
        assert captured(torch.ones(3)).shape == (3,)
    assert captured(torch.ones(3)).tolist() == [2, 2, 2]


def test_inside_torch_compile():
    captured = shunt_torch.capture(lambda x: x * 2 + 1)
    compiled = torch.compile(lambda x: captured(x).relu() - 1, backend="eager")
    x = torch.randn(5)
    for _ in range(8):
        assert torch.equal(compiled(x), (x * 2 + 1).relu() - 1)


def test_of_a_compiled_function():
    compiled = torch.compile(lambda x: x * 2 + 1, backend="eager")
    check_captured(same_as_eager(lambda: program(lambda x: compiled(x) - 1), lambda p: [p.step(torch.randn(3)) for _ in range(8)]), 1)


def test_inference_mode():
    model = torch.nn.Linear(3, 3)

    def drive(p):
        out = []
        for i in range(18):
            x = torch.randn(2, 3)
            with torch.inference_mode(i // 6 % 2 == 0):
                y = torch.randn(2, 3) if i % 2 else x
                out.append(p.step(y))
        return out

    captured = check_captured(same_as_eager(lambda: program(lambda x: model(x).detach() * 2), drive), 6)
    assert recordings(captured) >= 2


def test_inference_mode_inside_is_refused():
    def step(x):
        with torch.inference_mode():
            return x * 2

    assert "the result is an inference tensor: enter inference_mode() around the call" in refusal_of(step, torch.ones(2))


def test_other_generators():
    generator = torch.Generator()
    assert "generator" in refusal_of(lambda x: x + torch.rand(2, generator=generator), torch.ones(2))
    assert "generator" in refusal_of(lambda g: torch.rand(2, generator=g), torch.Generator())


def test_draws():
    def make():
        model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))

        def step(x):
            model.zero_grad()
            noise = torch.randn_like(x) + torch.randint(0, 3, (5, 1)) + torch.randperm(5)[:, None]
            loss = model(x + noise).pow(2).mean()
            loss.backward()
            return loss.detach(), torch.bernoulli(torch.full((4,), 0.5)), torch.multinomial(torch.ones(4), 2)

        return program(step, model=model)

    def drive(p):
        out = []
        for i in range(12):
            if i % 5 == 4:
                torch.manual_seed(i)
            out.append((p.step(torch.ones(5, 3)), [w.grad for w in p.model.parameters()], torch.rand(1)))
        return out

    check_captured(same_as_eager(make, drive), 8)


# Options.


def test_switched_off():
    program = """
import torch, shunt_torch
step = shunt_torch.capture(lambda x: x * 2)
print([step(torch.ones(1)).item() for _ in range(6)], len(step._recordings))
"""
    environment = {**os.environ, "SHUNT_TORCH": "0"}
    out = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0] 0"


def test_options():
    for wrong in ({"numerics": "nearly"}, {"check": "often"}, {"hooks": "maybe"}, {"max_recordings": 0}, {"max_recordings": 1.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            shunt_torch.capture(doubled, **wrong)
    with pytest.raises(TypeError, match="expected a function"):
        shunt_torch.capture(3)


def test_reset():
    captured = shunt_torch.capture(doubled)
    for _ in range(6):
        captured(torch.ones(2))
    assert recordings(captured) == 1
    captured.reset()
    assert recordings(captured) == 0 and "not recorded yet" in captured.explain()
    for _ in range(6):
        captured(torch.ones(2))
    assert recordings(captured) == 1


def test_copies():
    import copy
    import pickle

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2, 2)
            self.run = shunt_torch.capture(self.fc.forward)

        @shunt_torch.capture
        def forward(self, x):
            return self.fc(x).detach()

    model = Model()
    x = torch.ones(2)
    for _ in range(5):
        model(x)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.fc.weight.zero_(), other.fc.bias.zero_()
    assert other(x).tolist() == [0, 0] and other.run(x).tolist() == [0, 0] and bits(model(x)) != bits(other(x))
    assert pickle.loads(pickle.dumps(pickled)) is pickled


@shunt_torch.capture
def pickled(x):
    return x
