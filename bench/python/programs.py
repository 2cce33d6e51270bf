"""Measures one program in one library, in this process: `programs.py LIBRARY PROGRAM` prints nanoseconds, or nothing
where the library lacks something. LIBRARY: shunt, compiled (shunt, with shunt.compile), torch, numpy.
`bench/python/run` calls it.
"""

import sys
import time

STEPS = 20  # of the pendulum, and of the sequence


def best_of(call, seconds=0.3):
    """Nanoseconds a call: of batches of some milliseconds the fastest."""
    for _ in range(20):
        call()
    begun = time.perf_counter()
    call()
    n = max(1, int(0.004 / max(time.perf_counter() - begun, 1e-7)))
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        begun = time.perf_counter()
        for _ in range(n):
            call()
        best = min(best, (time.perf_counter() - begun) / n)
    return best * 1e9


def vector(L, n=16, **options):
    return (L.arange(n, dtype=L.float32) * 0.37).cos().requires_grad_(bool(options.get("requires_grad")))


def matrix(L, rows, columns, shift=0.0):
    x = (L.arange(rows * columns, dtype=L.float32) * 0.37 + shift).cos() * 0.3
    return x.reshape(rows, columns).clone()


# --- operators ---

def operators(L, grad=False):
    x, y = vector(L, requires_grad=grad), vector(L)
    relu = L.relu
    return {"x + y": lambda: x + y, "x * 2": lambda: x * 2, "relu(x)": lambda: relu(x)}


def indexing(L):
    x, mask, cat = matrix(L, 4, 4), matrix(L, 4, 4) > 0, L.cat
    pair = [x, x]
    return {"x[i]": lambda: x[2], "x[1:, None]": lambda: x[1:, None], "x[mask]": lambda: x[mask],
            "x.sum()": lambda: x.sum(),
            "x.mean(0)": lambda: x.mean(0), "cat": lambda: cat(pair)}


def numpy_programs():
    import numpy as np
    x, y = np.cos(np.arange(16, dtype=np.float32)), np.cos(np.arange(16, dtype=np.float32))
    m = np.cos(np.arange(16, dtype=np.float32)).reshape(4, 4)
    mask = m > 0
    return {"x + y": lambda: x + y, "x * 2": lambda: x * 2, "relu(x)": lambda: np.maximum(x, 0), "x[i]": lambda: m[2],
            "x[1:, None]": lambda: m[1:, None], "x[mask]": lambda: m[mask], "x.sum()": lambda: m.sum(),
            "x.mean(0)": lambda: m.mean(0),
            "cat": lambda: np.concatenate([m, m])}


# --- programs: `fast` compiles a function, or leaves it ---

def control_loop(L, fast):
    """A small policy and the pendulum's equations, without gradients."""
    w1, b1, w2, b2 = matrix(L, 3, 32), vector(L, 32), matrix(L, 32, 1), vector(L, 1)

    def step(theta, velocity):
        observed = L.stack([theta.cos(), theta.sin(), velocity])
        u = ((observed @ w1 + b1).tanh() @ w2 + b2).tanh()[0] * 2.0
        velocity = (velocity + (15.0 * theta.sin() + 3.0 * u) * 0.05).clamp(-8.0, 8.0)
        return theta + velocity * 0.05, velocity
    step = fast(step)
    start = vector(L, 2)

    def run():
        with L.no_grad():
            theta, velocity = start[0], start[1]
            for _ in range(STEPS):
                theta, velocity = step(theta, velocity)
        return theta
    return run


def lstm(L, fast):
    """A long short-term memory of 32 units by hand over 20 steps: forward and backward."""
    w, u, b = matrix(L, 8, 128).requires_grad_(), matrix(L, 32, 128,
                                                         1.0).requires_grad_(), vector(L, 128).requires_grad_()
    xs = [matrix(L, 4, 8, float(i)) for i in range(STEPS)]

    def step(xs):
        w.grad = u.grad = b.grad = None
        h, c = L.zeros(4, 32), L.zeros(4, 32)
        for x in xs:
            gates = x @ w + h @ u + b
            i, f, g, o = gates.chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        h.square().mean().backward()
    step = fast(step)
    return lambda: step(xs)


def adam_step(L, fast):
    """A step of Adam on a network of 16 units, batch 32; the update by hand, on tensors."""
    shapes = [(4, 16), (16, 16), (16, 1)]
    weights = [matrix(L, *s).requires_grad_() for s in shapes]
    moments = [(L.zeros(*s), L.zeros(*s)) for s in shapes]
    count, x, y = L.zeros([]), matrix(L, 32, 4), matrix(L, 32, 1, 1.0)

    def step(x, y):
        for w in weights:
            w.grad = None
        a, b, c = weights
        loss = (((x @ a).tanh() @ b).tanh() @ c - y).square().mean()
        loss.backward()
        with L.no_grad():
            count.add_(1)
            size = 0.001 * (1 - 0.999 ** count).sqrt() / (1 - 0.9 ** count)
            for w, (m, v) in zip(weights, moments):
                m.mul_(0.9).add_(w.grad, alpha=0.1)
                v.mul_(0.999).addcmul_(w.grad, w.grad, value=0.001)
                w.sub_(size * m / (v.sqrt() + 1e-8))
    step = fast(step)
    return lambda: step(x, y)


def library_adam_step(L, fast):
    """The same by the library's optimiser."""
    import importlib
    optim = importlib.import_module(f"{L.__name__}.optim")
    a, b, c = weights = [matrix(L, *s).requires_grad_() for s in [(4, 16), (16, 16), (16, 1)]]
    optimizer, x, y = optim.Adam(weights, lr=0.001), matrix(L, 32, 4), matrix(L, 32, 1, 1.0)

    def step(x, y):
        optimizer.zero_grad()
        loss = (((x @ a).tanh() @ b).tanh() @ c - y).square().mean()
        loss.backward()
        optimizer.step()
    step = fast(step)
    return lambda: step(x, y)


def digits(L, fast):
    """A step of gradient descent on the digits' network, 64 -> 128 -> 10, batch 32."""
    a, c = matrix(L, 64, 128).requires_grad_(), matrix(L, 128, 10).requires_grad_()
    b, d = L.zeros(128).requires_grad_(), L.zeros(10).requires_grad_()
    weights, x, y = [a, b, c, d], matrix(L, 32, 64), L.arange(32) % 10

    def step(x, y):
        for w in weights:
            w.grad = None
        scores = L.addmm(d, L.addmm(b, x, a).relu(), c)
        loss = -scores.log_softmax(1).gather(1, y[:, None]).mean()
        loss.backward()
        with L.no_grad():
            for w in weights:
                w.sub_(w.grad * 0.1)
    step = fast(step)
    return lambda: step(x, y)


PROGRAMS = {"control loop": control_loop, "LSTM": lstm, "Adam": adam_step, "Adam by optim": library_adam_step,
            "digits": digits}


# --- others ---

def mode(L):
    """An operator under a mode with an empty handler."""
    import importlib
    TorchDispatchMode = importlib.import_module(f"{L.__name__}.utils._python_dispatch").TorchDispatchMode

    class Empty(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))
    x, y = vector(L), vector(L)
    entered = Empty()

    def run():
        with entered:
            for _ in range(100):
                x + y
    return run


def graph_time(L, is_first):
    """CPU time until a function of 30 operators has run as a graph, less that of the function's own calls: of the
    first function in a process, for which the package loads what it needs to compile, or of the next."""
    x, y = vector(L), vector(L)

    def function(x, y):
        for _ in range(10):
            x = (x * 2 + y).tanh()
        return x

    def other(x, y):
        for _ in range(10):
            x = (x * 3 - y).sigmoid()
        return x
    if not is_first:
        fast = L.compile(other)
        for _ in range(3):
            fast(x, y)
    for _ in range(3):
        function(x, y)
    begun = time.thread_time()
    function(x, y)
    eager = time.thread_time() - begun
    fast = L.compile(function)
    begun = time.thread_time()
    for _ in range(3):
        fast(x, y)
    return (time.thread_time() - begun - 3 * eager) * 1e9


def main(name, program):
    if name == "numpy":
        call = numpy_programs().get(program)
        return None if call is None else best_of(call)
    is_compiled = name == "compiled"
    L = __import__("shunt" if is_compiled else name)
    if name == "torch":
        L.set_num_threads(1)
    if program in ("first graph", "next graph"):
        return graph_time(L, program == "first graph")
    if program == "mode":
        return best_of(mode(L)) / 100
    grad = program.startswith("grad: ")
    found = {**operators(L, grad), **indexing(L)}.get(program.removeprefix("grad: "))
    if found is None:
        found = PROGRAMS[program](L, L.compile if is_compiled else lambda f: f)
        if is_compiled:
            for _ in range(60):
                found()
    return best_of(found)


if __name__ == "__main__":
    try:
        result = main(sys.argv[1], sys.argv[2])
    except (ImportError, AttributeError) as error:
        print(f"{sys.argv[1]}, {sys.argv[2]}: {error}", file=sys.stderr)
        result = None
    print("" if result is None else result)
