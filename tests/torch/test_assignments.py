"""Assignments that are no operators: grads, .data, containers, what a tensor is. Replayed as eager code does them, or refused."""

import pytest
import shunt_torch
import torch
from capturing import check_captured, model_and_optimizer, program, refusal_of, replays, same_as_eager, state_of


def loss_of(p, x):
    return p.model(x).pow(2).mean()


def zero_inside(p, x):
    p.optimizer.zero_grad()
    loss_of(p, x).backward()


def zero_to_zero_inside(p, x):
    p.optimizer.zero_grad(set_to_none=False)
    loss_of(p, x).backward()


def zero_by_hand(p, x):
    for w in p.model.parameters():
        w.grad = torch.zeros_like(w)
    loss_of(p, x).backward()


def accumulate(p, x):
    loss_of(p, x).backward()


def twice(p, x):
    p.optimizer.zero_grad()
    loss_of(p, x).backward()
    loss_of(p, x * 2).backward()


def by_autograd_grad(p, x):
    parameters = list(p.model.parameters())
    for w, g in zip(parameters, torch.autograd.grad(loss_of(p, x), parameters)):
        w.grad = g


def clipped(p, x):
    p.optimizer.zero_grad()
    loss_of(p, x).backward()
    torch.nn.utils.clip_grad_norm_(p.model.parameters(), 0.1)


def made_with(inside):
    def make():
        p = model_and_optimizer()

        def step(x):
            inside(p, x)
            p.optimizer.step()

        p.step = step
        return p

    return make


INSIDE = [zero_inside, zero_to_zero_inside, zero_by_hand, accumulate, twice, by_autograd_grad, clipped]
OUTSIDE = {
    "nothing": lambda p: None,
    "none": lambda p: p.model.zero_grad(),
    "zero": lambda p: p.model.zero_grad(set_to_none=False),
    "scaled": lambda p: [w.grad.mul_(0.5) for w in p.model.parameters() if w.grad is not None],
    "one of them": lambda p: setattr(p.model[0].weight, "grad", None),
}


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("inside", INSIDE)
def test_grads(inside, outside):
    def drive(p):
        out = []
        for _ in range(7):
            out.append((p.step(torch.randn(5, 3)), state_of(p)))
            OUTSIDE[outside](p)
        return out

    check_captured(same_as_eager(made_with(inside), drive), 3)


def test_grads_change_between_calls():
    def drive(p):
        out = []
        for i in range(16):
            if i % 4 == 1:
                p.model.zero_grad()
            if i % 4 == 2:
                p.model[0].weight.grad = torch.ones(4, 3)
            out.append((p.step(torch.randn(5, 3)), state_of(p)))
        return out

    check_captured(same_as_eager(made_with(accumulate), drive), 3)


def test_callers_keep_grads():
    def drive(p):
        kept = []
        for _ in range(7):
            p.step(torch.randn(5, 3))
            kept.append([w.grad for w in p.model.parameters()])
        assert len({id(g) for grads in kept for g in grads}) == 28
        return kept

    check_captured(same_as_eager(made_with(zero_inside), drive), 4)


def test_a_returned_grad_is_the_grad():
    def make():
        p = model_and_optimizer()

        def step(x):
            zero_inside(p, x)
            return p.model[0].weight.grad

        p.step = step
        return p

    def drive(p):
        return [p.step(torch.randn(5, 3)) is p.model[0].weight.grad for _ in range(8)]

    check_captured(same_as_eager(make, drive), 5)


def test_grad_of_an_argument_goes_to_this_call_s_argument():
    def step(x):
        (x * x).sum().backward()

    def drive(p):
        out = []
        for i in range(8):
            x = torch.full((3,), float(i), requires_grad=True)
            p.step(x)
            out.append(x.grad)
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 5)


def test_grad_given_to_a_plain_argument():
    def step(x):
        x.grad = x * 2

    def drive(p):
        out = []
        for i in range(8):
            x = torch.full((3,), float(i))
            p.step(x)
            out.append(x.grad)
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 5)


def test_versions():
    def make():
        buffer = torch.zeros(4)

        def step(x, y):
            x.add_(1).mul_(2)
            buffer[1:].add_(y)
            return x.sum() + buffer.sum()

        return program(step, buffer=buffer)

    def drive(p):
        out = []
        for _ in range(9):
            base = torch.zeros(3)
            p.step(base, base[:])
            out.append((base._version, p.buffer._version))
        return out

    check_captured(same_as_eager(make, drive), 6)


def test_a_written_argument_that_backward_needs():
    def drive(p):
        out = []
        for _ in range(8):
            w = torch.ones(2, requires_grad=True)
            x = torch.ones(2)
            y = (w * x).sum()
            p.step(x)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.backward()
        return out

    check_captured(same_as_eager(lambda: program(lambda x: x.add_(1)), drive), 5)


# Refused.


def sets_data(w, b, x):
    w.data = x * 2


def sets_data_to_equal(w, b, x):
    w.data = w.data.clone()


def swaps(w, b, x):
    w.data, b.data = b.data, w.data


def seeds(w, b, x):
    torch.manual_seed(0)
    return torch.rand(2)


def sets_rng_state(w, b, x):
    torch.set_rng_state(torch.get_rng_state())
    return torch.rand(2)


def seeds_the_generator(w, b, x):
    torch.default_generator.manual_seed(0)
    return torch.rand(2)


def reads_the_seed(w, b, x):
    return x * (torch.initial_seed() % 7)


def freezes(w, b, x):
    w.requires_grad_(False)


def gives_a_graph(w, b, x):
    b.add_(w)
    return x + 1


def resizes(w, b, x):
    b.resize_(4)


def transposes(w, b, x):
    x.t_()


def hooks(w, b, x):
    w.register_hook(lambda g: g)


REFUSED = {
    sets_data: "the call changes the memory, sizes or strides of w",
    sets_data_to_equal: "the call changes the memory, sizes or strides of w",
    swaps: "the call changes the memory, sizes or strides of b",
    seeds: "`torch.manual_seed(0)` calls torch.manual_seed",
    seeds_the_generator: "`torch.default_generator.manual_seed(0)` calls torch._C.Generator.manual_seed",
    sets_rng_state: "calls torch.get_rng_state",
    reads_the_seed: "calls torch.initial_seed",
    freezes: "the call changes requires_grad of w",
    gives_a_graph: "the call changes requires_grad of b",
    resizes: "aten::resize_ changes sizes or strides of memory from outside",
    transposes: "aten::t_ changes sizes or strides of memory from outside",
    hooks: "w has hooks, which a replay doesn't call",
}


@pytest.mark.parametrize("step", REFUSED)
def test_refused(step):
    w, b = torch.nn.Parameter(torch.ones(2)), torch.ones(2)

    def call(x):
        return step(w, b, x)

    captured = shunt_torch.capture(call)
    for _ in range(3):
        w.requires_grad_(True)
        b = torch.ones(2)
        captured(torch.ones(2, 2))
    assert not captured._recordings and REFUSED[step] in str(captured._refusal), captured.explain()


def pops(batch):
    return batch.pop("x") + 1


def swaps_entries(batch):
    batch["x"], batch["y"] = batch["y"], batch["x"]
    return batch["x"] + 1


def counts(batch):
    batch["n"] += 1


def tags(batch):
    batch["x"].seen = True


@pytest.mark.parametrize("step", [pops, swaps_entries, counts, tags])
def test_changed_arguments(step):
    def drive(p):
        out = []
        for _ in range(7):
            batch = {"x": torch.ones(2), "y": torch.zeros(2), "n": 0}
            out.append((p.step(batch), batch, hasattr(batch.get("x"), "seen")))
        return out

    captured = same_as_eager(lambda: program(step), drive)
    assert not captured._recordings
    assert "args[0]" in str(captured._refusal), captured.explain()


@pytest.mark.parametrize("step", [lambda items: items, lambda items: (items[0] + 1, items), lambda items: ([items[0]],) * 2])
def test_returned_containers_are_the_function_s(step):
    assert "is elsewhere, too" in refusal_of(step, [torch.ones(2)])


def test_grads_that_show_other_memory():
    """Each is the object that it is in eager code: an input itself, or another one on its memory."""
    assign = {
        "detached": lambda a, b, x: setattr(a, "grad", x.detach()),
        "itself": lambda a, b, x: setattr(a, "grad", x),
        "of another": lambda a, b, x: (setattr(a, "grad", x * 2), setattr(b, "grad", a.grad.detach())),
        "the same for two": lambda a, b, x: (setattr(a, "grad", x * 2), setattr(b, "grad", a.grad)),
    }
    for name, grads in assign.items():
        seen = []
        for is_captured in (False, True):
            a, b = (torch.ones(3, requires_grad=True) for _ in range(2))

            def step(x):
                grads(a, b, x)
                return (x * 2).detach()

            step = shunt_torch.capture(step, check="never") if is_captured else step
            for _ in range(6):
                a.grad = b.grad = None
                x = torch.ones(3, requires_grad=name == "detached")
                step(x)
            torch.optim.SGD([a], lr=0.1).zero_grad(set_to_none=False)
            seen.append((a.grad is x, a.grad is b.grad, a.grad.requires_grad, x.requires_grad, a.grad.tolist()))
            if is_captured:
                assert replays(step) == 3, (name, step.explain())
        assert seen[0] == seen[1], name


def test_a_grad_and_a_result_on_its_memory():
    w = torch.ones(3, requires_grad=True)

    def step(x):
        w.grad = x * 2
        return w.grad, w.grad.detach()

    captured = shunt_torch.capture(step, check="never")
    for _ in range(6):
        w.grad = None
        grad, detached = captured(torch.ones(3))
        assert grad is w.grad and detached is not grad and detached.data_ptr() == grad.data_ptr()
    assert replays(captured) == 3
