"""What stands behind a name may be another object, or the same one with another dtype or memory: recordings notice."""

import copy

import pytest
import torch
from capturing import check_captured, model_and_optimizer, program, recordings, refusal_of, same_as_eager, state_of


def train(p, calls):
    return [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(calls)]


def new_data(p):
    p.model[0].weight.data = torch.ones(4, 3)


def new_storage(p):
    with torch.no_grad():
        p.model[0].weight.set_(torch.full((4, 3), 0.5))


def load_in_place(p):
    p.model.load_state_dict({k: torch.ones_like(v) for k, v in p.model.state_dict().items()})


def load_assigned(p):
    p.model.load_state_dict({k: torch.ones_like(v) for k, v in p.model.state_dict().items()}, assign=True)
    p.optimizer.param_groups[0]["params"] = list(p.model.parameters())
    p.optimizer.state.clear()


def load_assigned_without_optimizer(p):
    p.model.load_state_dict({k: torch.ones_like(v) for k, v in p.model.state_dict().items()}, assign=True)


def swapped_tensors(p):
    with torch.no_grad():
        p.model[2].weight.grad = None
        torch.utils.swap_tensors(p.model[2].weight, torch.nn.Parameter(torch.ones(2, 4)))


def rebuilt_optimizer(p):
    p.optimizer = torch.optim.SGD(p.model.parameters(), lr=0.05, momentum=0.8)


def loaded_optimizer(p):
    p.optimizer.load_state_dict(copy.deepcopy(p.optimizer.state_dict()))


def other_layer(p):
    p.model[0] = torch.nn.Linear(3, 4)


def other_activation(p):
    p.model[1] = torch.nn.ReLU()


def frozen(p):
    p.model[0].weight.requires_grad_(False)


def learning_rate(p):
    p.optimizer.param_groups[0]["lr"] = 0.01


def scheduled(p):
    torch.optim.lr_scheduler.StepLR(p.optimizer, 1, 0.5)
    p.optimizer.param_groups[0]["lr"] *= 0.5


def momentum_buffer(p):
    p.optimizer.state[p.model[0].weight]["momentum_buffer"] = torch.zeros(4, 3)


def shared_weight(p):
    p.model[0].bias = p.model[2].weight = torch.nn.Parameter(torch.ones(4))
    p.model[2] = torch.nn.Linear(4, 4)
    p.model[2].bias = p.model[0].bias


def same_memory(p):
    p.model[0].bias.data = p.model[2].weight.data[0]


def strides(p):
    p.model[0].weight.data = torch.ones(3, 4).t()


@pytest.mark.parametrize(
    "change",
    [
        new_data, new_storage, load_in_place, load_assigned, load_assigned_without_optimizer, swapped_tensors, rebuilt_optimizer,
        loaded_optimizer, other_layer, other_activation, frozen, learning_rate, scheduled, momentum_buffer, shared_weight, same_memory,
        strides,
    ],
)  # fmt: skip
def test_after(change):
    def drive(p):
        before = train(p, 6)
        change(p)
        return before, train(p, 6)

    check_captured(same_as_eager(model_and_optimizer, drive), 4)


def test_double():
    def drive(p):
        before = train(p, 6)
        p.model.double()
        p.optimizer = torch.optim.SGD(p.model.parameters(), lr=0.1)
        return before, [(p.step(torch.randn(5, 3, dtype=torch.float64)), state_of(p)) for _ in range(5)]

    check_captured(same_as_eager(model_and_optimizer, drive), 6)


def test_state_replaced_outside():
    def make():
        cell = torch.nn.GRUCell(3, 4).requires_grad_(False)
        p = program(None, h=torch.zeros(2, 4))
        p.step = lambda x: cell(x, p.h)
        return p

    def drive(p):
        out = []
        for _ in range(9):
            p.h = p.step(torch.randn(2, 3))
            out.append(p.h)
        return out

    # Each time another object, so nothing is ever replayed; the advice is to pass it as an argument.
    captured = same_as_eager(make, drive, max_recordings=2)
    assert "p.h: expected a Tensor of float32[2, 4]" in captured._given_up and "pass what changes as an argument" in captured._given_up


def test_target_networks_change_places():
    def make():
        p = program(None, a=torch.nn.Linear(3, 2), b=torch.nn.Linear(3, 2))
        p.step = lambda x: (p.a(x) - p.b(x)).detach()
        return p

    def drive(p):
        out = []
        for i in range(12):
            out.append(p.step(torch.randn(2, 3)))
            if i % 4 == 3:
                p.a, p.b = p.b, p.a
        return out

    captured = same_as_eager(make, drive)
    assert recordings(captured) == 2


def test_bits_of_conjugate_and_negative_views():
    def drive(p):
        z = torch.randn(4, dtype=torch.complex64)
        inputs = [z.imag, z.conj().imag, z.real.neg(), torch._neg_view(z.real)]
        return [p.step(x) for x in inputs for _ in range(5)]

    check_captured(same_as_eager(lambda: program(lambda x: x * 2 + 1), drive), 6)


def test_an_argument_that_is_captured_too():
    def make():
        w = torch.randn(3)
        return program(lambda x: x + w * 2, w=w)

    def drive(p):
        return [p.step(x) for x in [p.w] * 6 + [torch.ones(3)] * 6 + [p.w.detach()] * 4 + [p.w[:]] * 3]

    check_captured(same_as_eager(make, drive), 6)


def test_two_arguments_on_one_storage():
    def step(a, b):
        a.add_(1)
        return a * b

    def drive(p):
        out = []
        for i in range(16):
            x = torch.arange(4.0)
            a, b = [(x, x.clone()), (x, x), (x, x.detach()), (x[1:], x[:-1])][i // 4]
            out.append((p.step(a, b), a, b, a._version, b._version))
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 4)


def test_two_leaves_with_one_grad():
    def make():
        a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

        def step():
            with torch.no_grad():
                a.sub_(a.grad)
                b.sub_(b.grad)

        return program(step, a=a, b=b)

    def drive(p):
        p.a.grad = p.b.grad = torch.randn(3)
        out = [(p.step(), p.a.clone(), p.b.clone()) for _ in range(6)]
        p.b.grad = torch.ones(3)
        return out + [(p.step(), p.a.clone(), p.b.clone()) for _ in range(6)]

    check_captured(same_as_eager(make, drive), 6)


def test_a_grad_at_another_offset():
    def make():
        w = torch.ones(4, requires_grad=True)

        def step():
            with torch.no_grad():
                w.sub_(w.grad * 0.5 + 1)
            return w.detach() * 1

        return program(step, w=w)

    def drive(p):
        grads = torch.arange(16.0)
        out = []
        for i in range(12):
            p.w.grad = grads[4 * (i // 6) : 4 * (i // 6) + 4]
            out.append(p.step())
        return out

    check_captured(same_as_eager(make, drive), 6)


def test_the_grad_of_what_is_no_leaf():
    def make():
        y = torch.ones(2, requires_grad=True) * 2
        y.retain_grad()
        return program(lambda x: x + 1 if y.grad is None else x + y.grad, y=y)

    def drive(p):
        with torch.no_grad():
            out = [p.step(torch.ones(2)) for _ in range(6)]
            p.y.grad = torch.ones(2)
            return out + [p.step(torch.ones(2)) for _ in range(6)]

    check_captured(same_as_eager(make, drive), 6)


def test_the_dtype_of_grads():
    def make():
        p = model_and_optimizer()

        def step(x):
            p.model.zero_grad()
            p.model(x).sum().backward()

        p.step = step
        return p

    def drive(p):
        out = train(p, 6)
        p.model.zero_grad()
        p.model[0].weight.grad_dtype = torch.float64
        return out, train(p, 6)

    check_captured(same_as_eager(make, drive), 6)


def test_overlapping_storages_are_refused():
    numpy = pytest.importorskip("numpy")
    memory = numpy.zeros(16, dtype=numpy.float32)
    a, b = torch.from_numpy(memory[:8]), torch.from_numpy(memory[4:12])
    assert "overlaps" in refusal_of(lambda x, y: x + y, a, b)

    def drive(p):
        memory[:] = 0
        pairs = [(memory[:8], memory[8:])] * 6 + [(memory[:8], memory[4:12])] * 3
        return [p.step(torch.from_numpy(x), torch.from_numpy(y)) for x, y in pairs]

    def step(x, y):
        x.add_(1)
        return y * 2

    check_captured(same_as_eager(lambda: program(step), drive), 3, given_up="overlaps")


def test_a_dual_tensor_later():
    forward_ad = torch.autograd.forward_ad

    def drive(p):
        out = []
        for i in range(9):
            with forward_ad.dual_level():
                x = torch.ones(2)
                y = p.step(forward_ad.make_dual(x, x + 1) if i > 5 else x)
                out.append(tuple(forward_ad.unpack_dual(y)))
        return out

    check_captured(same_as_eager(lambda: program(lambda x: x * 3), drive), 3, given_up="tangent")
