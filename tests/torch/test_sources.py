"""Where tensors come from: arguments, what the function's variables lead to, recorded operators. Any other memory is refused."""

import io
import threading

import pytest
import torch
from capturing import check_captured, program, refusal_of, same_as_eager

numpy = pytest.importorskip("numpy")
NUMBERS = [1.0, 2.0, 3.0]
UNKNOWN = "a tensor is used that is no argument"


class Source:
    """Gives memory in ways that no operator shows."""

    def __init__(self):
        self.bytes = bytearray(12)


SOURCE = Source()


def from_numpy(x):
    return x + torch.from_numpy(numpy.ones(3, dtype=numpy.float32))


def as_tensor(x):
    return x + torch.as_tensor(numpy.ones(3, dtype=numpy.float32))


def frombuffer(x):
    return x + torch.frombuffer(SOURCE.bytes, dtype=torch.float32)


def in_a_thread(x):
    made = []
    thread = threading.Thread(target=lambda: made.append(x.clone()))
    thread.start()
    thread.join()
    return x + made[0]


@pytest.mark.parametrize("step", [from_numpy, as_tensor, frombuffer, in_a_thread])
def test_refused(step):
    reason = refusal_of(step, torch.ones(3))
    # What isn't seen as a call to C is seen as unknown memory.
    assert any(part in reason for part in (UNKNOWN, "calls ", "starts a thread", "C code that can't be watched", "made in C")), reason


def test_numbers_are_constants():
    def step(x):
        return x + torch.tensor([1.0, 2.0, 3.0]) + torch.tensor(NUMBERS) + torch.as_tensor(NUMBERS) * x.new_tensor(2.0)

    def drive(p):
        out = [p.step(torch.randn(3)) for _ in range(6)]
        NUMBERS[1] = 7.0
        out += [p.step(torch.randn(3)) for _ in range(6)]
        NUMBERS[1] = 2.0
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 6)


def test_a_constant_is_new_in_each_call():
    def step(x):
        c = torch.zeros(3)
        c += x
        d = torch.tensor([1.0, 2.0, 3.0])
        d *= 2
        return c, d

    def drive(p):
        out = []
        for _ in range(7):
            c, d = p.step(torch.ones(3))
            out.append((c.clone(), d.clone()))
            c.add_(5), d.add_(5)
        return out

    check_captured(same_as_eager(lambda: program(step), drive), 4)


class Holder:
    def __init__(self):
        self.table = {"w": torch.randn(3)}
        self.rest = [torch.randn(3), (torch.randn(3),)]

    def step(self, x, default=torch.arange(3.0)):
        return x * self.table["w"] + self.rest[0] - self.rest[1][0] * default


def test_paths():
    def drive(p):
        out = [p.step(torch.randn(3)) for _ in range(6)]
        p.holder.table["w"].mul_(2)
        p.holder.rest[0] = torch.ones(3)
        return out + [p.step(torch.randn(3)) for _ in range(6)]

    def make():
        holder = Holder()
        return program(holder.step, holder=holder)

    check_captured(same_as_eager(make, drive), 6)


def test_other_objects_on_known_memory():
    def make():
        w = torch.randn(4, 3, requires_grad=True)

        def step(x):
            y = w.data @ x
            y = y + w.detach()[1] @ x + w.t().data[0].sum()
            w.data.mul_(0.5)
            return y + x.data.view(3, 1)[0]

        return program(step, w=w)

    def drive(p):
        return [(p.step(torch.randn(3)), p.w) for _ in range(8)]

    check_captured(same_as_eager(make, drive), 5)


def test_parameters_made_inside():
    def step(x):
        w = torch.nn.Parameter(x * 2)
        (w * x).sum().backward()
        return w.grad

    check_captured(same_as_eager(lambda: program(step), lambda p: [p.step(torch.randn(3)) for _ in range(8)]), 5)


def test_casts_of_autocast():
    def make():
        model = torch.nn.Linear(3, 3)

        def step(x):
            model.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = (model(x) + model(x * 2)).float().pow(2).sum()
            loss.backward()
            with torch.no_grad():
                for w in model.parameters():
                    w.sub_(w.grad, alpha=0.1)
            return loss.detach()

        return program(step, model=model)

    def drive(p):
        return [(p.step(torch.randn(5, 3)), list(p.model.parameters())) for _ in range(9)]

    check_captured(same_as_eager(make, drive), 6)


def test_autocast_outside_is_refused():
    model = torch.nn.Linear(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "autocast was entered outside of the call" in refusal_of(lambda x: model(x).detach(), torch.ones(2, 3))

    def drive(p):
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            return [p.step(torch.randn(2, 3)) for _ in range(6)]

    check_captured(same_as_eager(lambda: program(lambda x: model(x).detach()), drive), 3)


def test_memory_of_arguments_is_let_go():
    import gc
    import weakref

    import shunt_torch

    captured = shunt_torch.capture(lambda x: x * 2)
    alive = []
    for _ in range(6):
        x = torch.ones(3)
        alive.append(weakref.ref(x))
        captured(x)
        del x
    gc.collect()
    assert [r() for r in alive] == [None] * 6


def test_memory_made_by_the_recorded_call_is_let_go():
    import shunt_torch

    captured = shunt_torch.capture(lambda x: x * 2 + 1)
    x = torch.ones(3)
    results = [captured(x) for _ in range(6)]
    assert [r._use_count() for r in results] == [1] * 6
    assert x._use_count() == 1


def test_loaded_models():
    """Tensors that were loaded have dicts of hooks, which are empty."""
    def make():
        p = program(None, model=torch.nn.Linear(3, 2))
        p.optimizer = torch.optim.Adam(p.model.parameters(), fused=True)

        def step(x):
            p.optimizer.zero_grad()
            loss = p.model(x).square().sum()
            loss.backward()
            p.optimizer.step()
            return loss.detach()

        p.step = step
        return p

    def drive(p):
        out, saved = [], io.BytesIO()
        for i in range(20):
            if i == 8:
                torch.save([p.model, p.optimizer.state_dict()], saved)
            if i == 12:
                saved.seek(0)
                model, state = torch.load(saved, weights_only=False)
                p.model.load_state_dict(model.state_dict(), assign=True)
                p.optimizer = torch.optim.Adam(p.model.parameters(), fused=True)
                p.optimizer.load_state_dict(state)
            out.append(p.step(torch.randn(4, 3)))
        return out

    check_captured(same_as_eager(make, drive, check="never"), 13)
