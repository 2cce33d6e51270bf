"""A replay that ends early, by a value that was read or by an error, leaves everything to the function, generator and grads included."""

from types import SimpleNamespace

import pytest
import torch
from capturing import check_captured, refusal_of, same_as_eager

X = torch.arange(6.0).reshape(2, 3)


def embedding_program(handle):
    p = SimpleNamespace(model=torch.nn.Embedding(5, 3))
    p.optimizer = torch.optim.SGD(p.model.parameters(), lr=0.1)

    def step(i):
        p.optimizer.zero_grad()
        out = handle(lambda: torch.nn.functional.dropout(p.model(i), 0.5))
        out.sum().backward()
        p.optimizer.step()
        return out.detach()

    p.step = step
    return p


def handled(f):
    try:
        return f()
    except IndexError:
        return torch.ones(3, requires_grad=True) * 2


class Suppressing:
    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        return kind is IndexError


def suppressed(f):
    out = torch.ones(3, requires_grad=True) * 2
    with Suppressing():
        out = f()
    return out


@pytest.mark.parametrize("handle", [handled, suppressed])
def test_an_error_that_is_handled(handle):
    good, bad = torch.tensor([1, 2]), torch.tensor([1, 9])

    def drive(p):
        return [p.step(i) for i in (good, good, good, good, good, good, bad, good, bad, good)]

    check_captured(same_as_eager(lambda: embedding_program(handle), drive, check="never"), given_up="which the function handles")


def test_an_error_after_draws_and_assigned_grads():
    good, bad = torch.tensor([1, 2]), torch.tensor([1, 9])

    def drive(p):
        out = []
        for i in (good, good, good, good, bad, good, good):
            try:
                out.append(p.step(i))
            except IndexError as error:
                out.append((str(error), p.model.weight.grad))
        return out

    check_captured(same_as_eager(lambda: embedding_program(lambda f: f()), drive, check="never"))


@pytest.mark.parametrize("handle", [handled, suppressed])
def test_an_error_after_memory_was_written(handle):
    model, count = torch.nn.Embedding(5, 3), torch.zeros(())

    def step(i):
        count.add_(1)
        return handle(lambda: model(i))

    assert "may raise an error after something outside was changed, and the function handles errors" in refusal_of(step, torch.tensor([1]))


def test_handlers_that_an_error_does_not_reach():
    model, count = torch.nn.Embedding(5, 3), torch.zeros(())

    def parsed(text):
        try:
            return int(text)
        except ValueError:
            return 0

    def drive(p):
        return [p.step(torch.tensor([i % 5])) for i in range(6)]

    def make():
        def step(i):
            scale = parsed("3")
            with torch.no_grad():
                count.add_(1)
                return model(i) * scale

        return SimpleNamespace(step=step)

    check_captured(same_as_eager(make, drive, check="never"))


def test_a_value_read_after_draws():
    def make():
        def step(x, flag):
            out = torch.nn.functional.dropout(x, 0.5)
            if flag.all():
                out = out * 2
            return out + torch.rand(3)

        return SimpleNamespace(step=step)

    def drive(p):
        yes, no = torch.tensor([True, True]), torch.tensor([True, False])
        return [p.step(X, flag) for flag in (yes, yes, yes, yes, no, yes, no, no, yes)]

    captured = same_as_eager(make, drive, check="never")
    assert len(captured._recordings) == 2 and sum(r.abandoned for r in captured._recordings) > 0


def test_attention_without_dropout_draws_nothing():
    def make():
        def step(q):
            out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
            return out * 2 if (q == q).all() else out

        return SimpleNamespace(step=step)

    def drive(p):
        return [p.step(torch.randn(1, 2, 3, 4)) for _ in range(6)]

    captured = check_captured(same_as_eager(make, drive, check="never"))
    assert not captured._recordings[0].program.draws_while_harmless


def test_draws_between_assigned_grads():
    """What ends the run early comes after them in the program, though grads are assigned late."""
    def make():
        p = SimpleNamespace(parameters=[torch.zeros(2, requires_grad=True) for _ in range(20)])

        def step(x):
            for parameter in p.parameters:
                parameter.grad = None
            noise = torch.randn(2)
            scale = 2.0 if (x > 0).all() else 1.0
            with torch.no_grad():
                p.parameters[0].add_(noise * scale)
            return noise * scale

        p.step = step
        return p

    def drive(p):
        out = []
        for i in range(8):
            for parameter in p.parameters:
                parameter.grad = torch.zeros(2)
            out.append(p.step(torch.ones(2) if i < 5 else -torch.ones(2)))
        return out, p.parameters[0].detach()

    captured = same_as_eager(make, drive, check="never")
    assert len(captured._recordings) == 2 and captured._recordings[1].abandoned > 0, captured.explain()
