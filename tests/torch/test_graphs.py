"""Graphs of autograd across the border of a captured call."""

import pytest
import shunt_torch
import torch
from capturing import check_captured, model_and_optimizer, program, refusal_of, same_as_eager, state_of


def test_a_returned_loss_throws_eager_s_error():
    def make():
        p = model_and_optimizer()

        def step(x):
            p.optimizer.zero_grad()
            loss = p.model(x).pow(2).mean()
            loss.backward()
            p.optimizer.step()
            return loss

        p.step = step
        return p

    def drive(p):
        out = []
        for _ in range(8):
            loss = p.step(torch.randn(5, 3))
            with pytest.raises(RuntimeError) as raised:
                loss.backward()
            with pytest.raises(RuntimeError) as again:
                (loss * 2).sum().backward()
            out.append((loss, loss.requires_grad, loss.is_leaf, loss.grad_fn.name(), str(raised.value), str(again.value), state_of(p)))
            out.append((loss.detach() + 1, loss.item(), loss.grad_fn.next_functions is not None))
        return out

    check_captured(same_as_eager(make, drive), 5)


def test_live_graphs_are_refused():
    model = torch.nn.Linear(3, 2)
    assert "has a graph that backward() could still go through" in refusal_of(lambda x: model(x), torch.ones(1, 3))
    assert "the result[1]['y']" in refusal_of(lambda x: (x * 2, {"y": model(x)}), torch.ones(1, 3))

    def saves(x):
        y = model(x)
        y.sum().backward(retain_graph=True)
        return y

    assert "has a graph that backward() could still go through" in refusal_of(saves, torch.ones(1, 3))

    def makes_a_leaf(x):
        return (x * 2).requires_grad_()

    assert "the result is a leaf that was made in the call and requires grad" in refusal_of(makes_a_leaf, torch.ones(3))

    kept = []

    def escapes(x):
        kept[:] = [model(x)]

    kept.append(None)
    assert "kept" in refusal_of(escapes, torch.ones(1, 3))


def test_without_grad_mode_they_are_none():
    def drive(p):
        out = []
        for i in range(16):
            with torch.set_grad_enabled(i // 8 == 1):
                out.append(p.step(torch.ones(1, 3)))
        return out

    model = torch.nn.Linear(3, 2)
    captured = same_as_eager(lambda: program(lambda x: model(x)), drive)
    assert len(captured._recordings) == 1 and "could still go through" in str(captured._refusal)


def test_graphs_from_outside_are_refused():
    x = torch.ones(3, requires_grad=True)
    assert "args[0] has a grad_fn" in refusal_of(lambda y: y.detach() * 2, x * 1)
    y = x * 2
    assert "y has a grad_fn" in refusal_of(lambda z: (z * y).detach(), torch.ones(3))

    def drive(p):
        with torch.no_grad():
            return [p.step(torch.ones(3)) for _ in range(7)]

    check_captured(same_as_eager(lambda: program(lambda z: z * y), drive), 4)


def test_later_graphs():
    """An argument that has a graph in a later call."""

    def drive(p):
        out = []
        for i in range(14):
            x = torch.ones(3, requires_grad=True)
            y = p.step(x * 2 if i > 5 and i % 3 == 2 else torch.ones(3) * 2)
            out.append((y, y.requires_grad))
            if y.requires_grad:
                y.sum().backward()
                out.append(x.grad)
        return out

    check_captured(same_as_eager(lambda: program(lambda x: x * 3), drive), 4, given_up="grad_fn")


def test_create_graph():
    def make():
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

        def step(x):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            model.zero_grad()
            ((slope.norm(dim=1) - 1) ** 2).mean().backward()
            return slope.detach()

        return program(step, model=model)

    def drive(p):
        return [(p.step(torch.randn(5, 3)), [w.grad for w in p.model.parameters()]) for _ in range(8)]

    check_captured(same_as_eager(make, drive), 5)

    w = torch.ones(2, requires_grad=True)

    def leaves_a_graph(x):
        (w**3 * x).sum().backward(create_graph=True)

    captured = shunt_torch.capture(leaves_a_graph)
    for _ in range(3):
        w.grad = None
        captured(torch.ones(2))
    assert "the grad of w has a graph (create_graph=True)" in str(captured._refusal)


class Doubled(torch.autograd.Function):
    scale = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * Doubled.scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Doubled.scale + x * 0


def test_functions_of_the_user():
    def make():
        w = torch.randn(3, requires_grad=True)

        def step(x):
            w.grad = None
            loss = Doubled.apply(w * x).sum()
            loss.backward()
            return loss

        return program(step, w=w)

    def drive(p):
        out = [(p.step(torch.randn(3)), p.w.grad) for _ in range(6)]
        Doubled.scale = 3.0
        out += [(p.step(torch.randn(3)), p.w.grad) for _ in range(6)]
        Doubled.scale = 2.0
        return out

    check_captured(same_as_eager(make, drive), 6)


def test_checkpoints():
    from torch.utils.checkpoint import checkpoint

    def make():
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

        def step(x):
            model.zero_grad()
            loss = checkpoint(model, x, use_reentrant=False).sum()
            loss.backward()

        return program(step, model=model)

    def drive(p):
        return [(p.step(torch.randn(5, 3)), [w.grad for w in p.model.parameters()]) for _ in range(7)]

    same_as_eager(make, drive)

    dropout = torch.nn.Dropout(0.5)

    def draws(x):
        x = x.detach().requires_grad_()
        checkpoint(dropout, x, use_reentrant=False).sum().backward()
        return x.grad

    captured = same_as_eager(lambda: program(draws), lambda p: [p.step(torch.ones(9)) for _ in range(7)])
    assert not captured._recordings, captured.explain()


# Hooks.


def hooked(where):
    def make():
        p = model_and_optimizer()
        where(p)
        return p

    return make


HOOKS = {
    "tensor": lambda p: p.model[0].weight.register_hook(lambda g: g * 2),
    "after accumulation": lambda p: p.model[0].weight.register_post_accumulate_grad_hook(lambda w: setattr(w, "grad", w.grad * 3)),
    "forward": lambda p: p.model[1].register_forward_hook(lambda m, i, o: o * 2),
    "forward before": lambda p: p.model[1].register_forward_pre_hook(lambda m, i: (i[0] + 1,)),
    "backward": lambda p: p.model[1].register_full_backward_hook(lambda m, i, o: (i[0] * 2,)),
    "optimizer": lambda p: p.optimizer.register_step_pre_hook(lambda o, a, k: [p.model[0].weight.grad.mul_(5), None][1]),
}


@pytest.mark.parametrize("where", HOOKS)
def test_hooks_are_refused_or_recorded(where):
    def drive(p):
        return [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(8)]

    captured = same_as_eager(hooked(HOOKS[where]), drive)
    assert not captured._recordings and "hooks" in str(captured._given_up), captured.explain()
    check_captured(same_as_eager(hooked(HOOKS[where]), drive, hooks="record"), 4)


@pytest.mark.parametrize("options", [{}, {"hooks": "record"}])
@pytest.mark.parametrize("where", HOOKS)
def test_hooks_added_later(where, options):
    def drive(p):
        out = [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(7)]
        handle = HOOKS[where](p)
        out += [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(7)]
        handle.remove()
        return out + [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(3)]

    check_captured(same_as_eager(model_and_optimizer, drive, **options), 4, given_up="" if options else "hooks")


def test_hooks_that_change_places():
    def make():
        w = torch.ones(2, requires_grad=True)

        def step(x):
            w.grad = None
            (w * x).sum().backward()

        return program(step, w=w)

    def drive(p):
        out = []
        handle = p.w.register_hook(lambda g: g * 2)
        for i in range(14):
            if i == 7:
                handle.remove()
                p.w.register_hook(lambda g: g * 5)
            p.step(torch.ones(2))
            out.append(p.w.grad)
        return out

    captured = check_captured(same_as_eager(make, drive, hooks="record"), 6)
    assert len(captured._recordings) == 2


def test_global_hooks():
    def drive(p):
        out = [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(6)]
        handle = torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 2)
        try:
            out += [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(6)]
        finally:
            handle.remove()
        return out + [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(3)]

    captured = same_as_eager(model_and_optimizer, drive)
    assert captured._recordings and not shunt_torch.capture(lambda x: x)._recordings


def test_a_graph_that_is_freed_in_part():
    """backward() could still reach v."""
    w, v = (torch.ones(3, requires_grad=True) for _ in range(2))

    def step(x):
        h = w * x
        h.sum().backward()
        return h + v

    assert "has a graph that backward() could still go through" in refusal_of(step, torch.ones(3))
