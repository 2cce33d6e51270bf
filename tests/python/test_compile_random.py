"""Random programs, eager and compiled: bits, dtypes, strides, what shares memory, versions, gradients; and that graphs
ran.

SHUNT_RANDOM_PROGRAMS is how many; SHUNT_RANDOM_SEED the first one's seed, as a failing test prints it.
"""

import os
import random

import pytest

import shunt
from compiling import unchecked

PROGRAMS = int(os.environ.get("SHUNT_RANDOM_PROGRAMS", "120"))
FIRST = int(os.environ.get("SHUNT_RANDOM_SEED", "0"))

UNARY = [
    ("relu", lambda x: x.relu()), ("tanh", lambda x: x.tanh()), ("exp", lambda x: (x * 0.1).exp()),
    ("neg", lambda x: -x),
    ("sigmoid", lambda x: x.sigmoid()), ("square", lambda x: x * x), ("abs", lambda x: x.abs()),
    ("scale", lambda x: x * 0.5 + 1),
    ("t", lambda x: x.t()), ("view", lambda x: x.reshape(-1).view(x.shape)), ("row", lambda x: x[0:1]),
    ("sum", lambda x: x.sum(0, keepdim=True)),
    ("mean", lambda x: x.mean(1, keepdim=True)), ("softmax", lambda x: x.softmax(-1)), ("clone", lambda x: x.clone()),
    ("double", lambda x: x.to(shunt.float64)), ("float", lambda x: x.to(shunt.float32)),
    ("clamp", lambda x: x.clamp(-0.5, 0.5)),
    ("where", lambda x: shunt.where(x > 0, x, x * 0.1)), ("cumulate", lambda x: x.cumsum(0)),
    ("detach", lambda x: x.detach()),
]
BINARY = [
    ("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("mul", lambda x, y: x * y),
    ("div", lambda x, y: x / (y * y + 1)),
    ("maximum", lambda x, y: shunt.maximum(x, y)), ("mm", lambda x, y: x.mm(y.t().to(x.dtype))),
    ("cat", lambda x, y: shunt.cat([x, y.to(x.dtype)], 0)[:3]),
]
IN_PLACE = [
    ("add_", lambda x, y: x.add_(y)), ("mul_", lambda x, y: x.mul_(0.5)), ("copy_", lambda x, y: x.copy_(y)),
    ("relu_", lambda x, y: x.relu_()),
    ("zero row", lambda x, y: x[0].zero_()), ("assign", lambda x, y: x.__setitem__((slice(0, 1),), 2.0)),
]


class Program:
    """A list of instructions on numbered tensors; what doesn't fit (shapes, in place on what requires grad) is left
    out."""

    def __init__(self, seed):
        r = self.random = random.Random(seed)
        self.trains = r.random() < 0.4
        self.draws = r.random() < 0.2
        self.instructions = []
        for _ in range(r.randint(2, 14)):
            kind = r.random()
            if kind < 0.5:
                self.instructions.append((1, r.choice(UNARY), r.random(), 0.0))
            elif kind < 0.85:
                self.instructions.append((2, r.choice(BINARY), r.random(), r.random()))
            else:
                self.instructions.append((3, r.choice(IN_PLACE), r.random(), r.random()))
        self.results = [r.random() for _ in range(r.randint(1, 3))]

    def __call__(self, xs, w):
        values = [*xs, w * 1.0] if not self.trains else [*xs, w]
        if self.draws:
            values.append(shunt.rand(3, 4))
        if self.trains:
            w.grad = None
        for count, (_, op), a, b in self.instructions:
            x, y = values[int(a * len(values))], values[int(b * len(values))]
            if count == 1:
                values.append(op(x))
            elif count == 2 and x.shape == y.shape:
                values.append(op(x, y))
            elif count == 3 and x.shape == y.shape and x is not w and not x.requires_grad and not y.requires_grad:
                op(x, y)
        chosen = [values[int(a * len(values))] for a in self.results]
        if self.trains:
            loss = sum((v.to(shunt.float32).square().mean() for v in values if v.requires_grad), shunt.zeros([]))
            loss.backward()
            with shunt.no_grad():
                w.sub_(w.grad * 0.1)
            return [c.detach() for c in chosen], loss.detach()
        return chosen, {"n": len(values)}


class Inputs:
    """Arguments of a call; some share memory."""

    def __init__(self, seed):
        r = random.Random(seed)
        shunt.manual_seed(seed)
        base = shunt.randn(6, 4)
        self.xs = [base[0:3], shunt.randn(3, 4), base[2:5] if r.random() < 0.3 else shunt.randn(3, 4),
                   shunt.randn(4, 3).t()]
        self.w = shunt.randn(3, 4).requires_grad_(r.random() < 0.8)

    def tensors(self):
        return [*self.xs, self.w]


def look(t):
    return None if t is None else (repr(t.detach().tolist()), t.dtype, tuple(t.shape), t.stride(), t.requires_grad,
                                   t.is_leaf)


def flat(result):
    chosen, other = result
    return [*chosen, *([other] if isinstance(other, shunt.Tensor) else [])]


def outcome(program, inputs, seed):
    """All that a call leaves: an error, or results, arguments, what shares memory, versions, gradients."""
    shunt.manual_seed(seed + 1)
    try:
        results = flat(program(inputs.xs, inputs.w))
    except RuntimeError as error:
        return ("error", type(error).__name__), None
    everything = [*inputs.tensors(), *results]
    grad_of = None
    history = [x for x in results if x.requires_grad]
    if history:
        total = sum((x.to(shunt.float64).sum() for x in history), shunt.zeros([], dtype=shunt.float64))
        inputs.w.grad = None
        if total.requires_grad and inputs.w.requires_grad:
            try:
                total.backward()
                grad_of = look(inputs.w.grad)
            except RuntimeError as error:  # what it needs was written meanwhile
                grad_of = type(error).__name__, "version" in str(error)
    shares = [(i, j) for i, a in enumerate(everything) for j, b in enumerate(everything) if i < j
              and memory(a) == memory(b)]
    same = [(i, j) for i, a in enumerate(everything) for j, b in enumerate(everything) if i < j and a is b]
    return ("result", [look(t) for t in results], [look(t) for t in inputs.tensors()], shares, same,
            [t._version for t in everything],
            look(inputs.w.grad), grad_of), shunt.rand(1).item()


def memory(t):
    return t.data_ptr() - t.storage_offset() * t.element_size() if t.numel() else None


ran = {"programs": 0, "graphs": 0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_a_compiled_program_does_what_the_program_does(seed):
    program = Program(seed)
    fast = unchecked(program)
    for call in range(5):
        want = outcome(program, Inputs(seed * 10 + call % 2), seed + call)
        got = outcome(fast, Inputs(seed * 10 + call % 2), seed + call)
        assert got == want, f"seed {seed}, call {call}\n{fast.explain()}\n{[i[1][0] for i in program.instructions]}"
    ran["programs"] += 1
    ran["graphs"] += fast.counts()["hits"] > 0


def test_most_programs_ran_as_graphs():
    if ran["programs"] == 0:
        pytest.skip("runs after the programs")
    assert ran["graphs"] > 0.6 * ran["programs"], ran
