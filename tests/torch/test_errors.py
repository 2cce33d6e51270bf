"""Errors in captured calls: what eager code would have written stands, and functions that handle errors go on as they do."""

import pytest
import torch
from capturing import check_captured, model_and_optimizer, program, refusal_of, same_as_eager, state_of


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
