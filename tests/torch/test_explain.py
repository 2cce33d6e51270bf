"""explain() of functions that are refused, compared whole; LINE stands for the line after the function's first."""

import random
import threading

import pytest
import shunt_torch
import torch

FILE = __file__.rpartition("/")[2]
MODEL = torch.nn.Linear(2, 2)
ADAM = torch.optim.Adam(MODEL.parameters(), 0.1)
COUNTER = torch.zeros(2)
FACTORS = iter([1.0] * 10)
GENERATOR = torch.Generator()
SPARSE = torch.eye(2).to_sparse()
LOSSES = []


def reads_a_value(x):
    return x * x.sum().item()


def prints(x):
    print(x.shape)


def draws_in_python(x):
    return x * random.random()


def steps_unfused_adam(x):
    ADAM.step(MODEL(x).sum().backward())


def returns_a_live_graph(x):
    return MODEL(x)


def chooses_elements(x):
    return x[x > 0]


def looks_after_writing(x):
    return x + 1 if bool((COUNTER.add_(1) > 0).all()) else x


def appends(x):
    LOSSES.append(1.0)


def reads_an_iterator(x):
    return x * next(FACTORS)


def draws_by_a_generator(x):
    return torch.rand(2, generator=GENERATOR) + x


def uses_a_sparse_tensor(x):
    return torch.mv(SPARSE, x)


def starts_a_thread(x):
    threading.Thread(target=len, args=((),)).start()


def gives_away_an_address(x):
    return x.data_ptr()


def seeds(x):
    torch.manual_seed(0)


EXPECTED = {
    reads_a_value: "FILE:LINE `return x * x.sum().item()`: aten::_local_scalar_dense gives Python the value 2.0, and a replay would freeze it: "
    "keep it in a tensor",
    prints: "FILE:LINE: `print(x.shape)` calls print, which a replay would not run again; call it outside and pass its result as an argument",
    draws_in_python: "FILE:LINE: `return x * random.random()` calls random.Random.random, which a replay would not run again; call it outside "
    "and pass its result as an argument",
    steps_unfused_adam: "FILE:LINE `ADAM.step(MODEL(x).sum().backward())`: Adam reads a tensor's value (aten::_local_scalar_dense gives Python "
    "the value 3.0): pass fused=True",
    returns_a_live_graph: "the result has a graph that backward() could still go through: detach() it, or call backward() inside",
    chooses_elements: "FILE:LINE `return x[x > 0]`: the size of aten::index's result depends on values",
    looks_after_writing: "FILE:LINE `return x + 1 if bool((COUNTER.add_(1) > 0).all()) else x`: aten::_local_scalar_dense gives Python the value "
    "True after memory from outside was written or numbers were drawn: read it before that",
    appends: "the call changes len(LOSSES) from 2 to 3, which a replay wouldn't",
    reads_an_iterator: "FACTORS: an iterator remembers its position, which a replay would not move; make it inside the function",
    draws_by_a_generator: "GENERATOR: a random generator of its own can't be followed; draw from PyTorch's default generator",
    uses_a_sparse_tensor: "FILE:LINE `return torch.mv(SPARSE, x)`: a tensor that is used has layout torch.sparse_coo, and only strided tensors can be captured",
    starts_a_thread: "FILE:LINE: `threading.Thread(target=len, args=((),)).start()` starts a thread; a replay would start none: start it "
    "outside the captured function",
    gives_away_an_address: "FILE:LINE `return x.data_ptr()`: Tensor.data_ptr() gives away what a recorder can't follow: use operators, or return "
    "the tensor",
    seeds: "FILE:LINE: `torch.manual_seed(0)` calls torch.manual_seed, which a replay would not run again; call it outside and pass its result "
    "as an argument",
}


@pytest.mark.parametrize("step", EXPECTED)
@pytest.mark.filterwarnings("ignore")
def test_refusal(step, capsys):
    captured = shunt_torch.capture(step)
    for _ in range(3):
        captured(torch.ones(2))
    text = captured.explain().replace(FILE, "FILE").replace(f":{step.__code__.co_firstlineno + 1}", ":LINE")
    assert text == f"{step.__name__}: 0 recordings, 0 replays, 3 calls run as they are\nthe last recording was refused: {EXPECTED[step]}"


@pytest.mark.filterwarnings("ignore")
def test_given_up():
    captured = shunt_torch.capture(reads_a_value, name="training")
    for _ in range(12):
        captured(torch.ones(2))
    text = captured.explain().replace(FILE, "FILE").replace(f":{reads_a_value.__code__.co_firstlineno + 1}", ":LINE")
    assert text == f"training: 0 recordings, 0 replays, 12 calls run as they are\nnot captured: {EXPECTED[reads_a_value]}"


def test_not_recorded_yet():
    captured = shunt_torch.capture(lambda x: x, name="step")
    captured(1)
    assert captured.explain() == "step: 0 recordings, 0 replays, 1 calls run as they are\nnot recorded yet: the first two calls run as they are"


def test_failed_guards():
    scale = 1.0
    captured = shunt_torch.capture(lambda x, n: x * scale * n)
    for _ in range(5):
        captured(torch.ones(2), 1)
    scale = 2.0
    captured(torch.ones(2), 1)
    captured(torch.ones(3), 1)
    captured(torch.ones(2), 3)
    captured(torch.ones(2).double(), 1)
    with torch.no_grad():
        captured(torch.ones(2), 1)
    lines = captured.explain().splitlines()
    at = lines.index("guards that failed last:")
    assert [line.strip() for line in lines[at + 1 :]] == [
        "closure scale of <lambda>: expected 1.0, got 2.0",
        "input 0: sizes: expected [2], got [3]",
        "args[1]: expected 1, got 3",
        "args[1]: expected 3, got 1",
        "grad mode: expected 1, got 0",
    ]
