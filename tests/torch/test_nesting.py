"""Captured functions inside of others, of transforms, compilers, modes, and the generators that they draw from."""

import shunt_torch
import torch
from capturing import check_captured, program, recordings, refusal_of, same_as_eager


def doubled(x):
    return x * 2


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


def test_traced_by_torch_jit():
    """A replay would show the tracer nothing, and its result would be a constant."""
    captured = shunt_torch.capture(lambda x: x * 2, check="never")
    for _ in range(5):
        captured(torch.ones(2))
    for _ in range(3):
        traced = torch.jit.trace(lambda x: captured(x) + x, (torch.ones(2),), check_trace=False)
        assert traced(torch.zeros(2)).tolist() == [0.0, 0.0]


def test_higher_order_operators():
    def make():
        return program(torch.no_grad()(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x.exp(), (x,))))

    def drive(p):
        return [p.step(x) for x in [torch.ones(3)] * 10 + [-torch.ones(3), torch.ones(3)] * 3]

    check_captured(same_as_eager(make, drive), 4)


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
