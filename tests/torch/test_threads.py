"""Captured functions in forked processes and in several threads."""

import os
import threading

import pytest
import shunt_torch
import torch
from capturing import recordings, replays


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
    assert replays(captured) > 100 or not is_recorded, captured.explain()


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


def test_numbers_that_another_thread_draws():
    """A call that draws nothing leaves the generator to others, while it is recorded and checked, too."""
    drawn, stop = [], threading.Event()

    def draw():
        while not stop.is_set() and len(drawn) < 20000:
            drawn.append(torch.randint(1 << 62, ()).item())

    w = torch.ones(8, requires_grad=True)

    def step(x):
        loss = (w * x).sin().sum()
        loss.backward()
        return loss.detach()

    thread = threading.Thread(target=draw)
    thread.start()
    for _ in range(40):
        captured = shunt_torch.capture(step, check="always")
        for _ in range(6):
            captured(torch.ones(8))
        assert replays(captured) == 3, captured.explain()
    stop.set()
    thread.join()
    assert len(set(drawn)) == len(drawn) > 0


def test_checks_while_other_threads_call():
    """Also where they are in PyTorch's kernels, which let go of the lock of Python."""
    model = torch.nn.Linear(16, 16)

    def step(x):
        with torch.no_grad():
            model.weight.add_(x.mean() * 1e-6)
            return model(x)

    captured = shunt_torch.capture(step, check="always")
    for _ in range(8):
        captured(torch.ones(4, 16))
    assert replays(captured) == 5
    errors = []

    def work():
        try:
            for _ in range(1000):
                captured(torch.ones(4, 16))
        except shunt_torch.CheckFailed as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and recordings(captured) > 0


def test_two_recordings_at_once_leave_torch_compile_as_it_was():
    turn = {"a": lambda: None, "b": lambda: None}

    class Waiting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            turn[name]()
            return x * 2

    torch.compile(lambda x: x, backend="eager")  # loads the compiler
    captured = {name: shunt_torch.capture(lambda x, name=name: Waiting.apply(x, name)) for name in "ab"}
    for _ in range(2):
        for function in captured.values():
            function(torch.ones(2))
    inside = {name: threading.Event() for name in "ab"}
    first_is_done = threading.Event()
    turn["a"] = lambda: (inside["a"].set(), inside["b"].wait(60))
    turn["b"] = lambda: (inside["b"].set(), first_is_done.wait(60))
    first, second = (threading.Thread(target=captured[name], args=(torch.ones(2),)) for name in "ab")
    first.start()
    inside["a"].wait(60)
    second.start()
    first.join()
    first_is_done.set()
    second.join()
    compiled = []
    torch.compile(lambda x: x + 1, backend=lambda graph, _: compiled.append(graph) or graph.forward)(torch.ones(2))
    assert len(compiled) == 1
