"""x[...] and x[...] = y: what PyTorch takes, with its results and kinds of errors, and random expressions."""

import os
import random
import warnings

import pytest

import shunt

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

# Each is evaluated with x a 2 x 3 x 4 tensor of PyTorch and of Shunt.
READ = """
x[0]                 x[-1]                x[5]                 x[-3]                x[1, 2, 3]           x[0, 0, 0, 0]
x[()]                x[...]               x[..., ...]          x[None, ..., None]   x[:, None, 1]        x[..., 2]
x[1:]                x[:, 1:3]            x[::2]               x[::-1]              x[::0]               x[1:0]
x[10:20]             x[2**70:]            x[2**70]             x['a':]              x[1.0:]              x[-1:, ..., :2]
x[True]              x[False]             x[:, True]           x[0, True, [0, 1]]   x[(True,)]           x[np.True_]
x[[0, 1]]            x[[]]                x[[1.5, 0]]          x[[True, False]]     x[[True, 2]]         x[range(2)]
x[:, [0, 1], [[0], [1]]]                  x[[0, 1], :, [0, 1]]                      x[[0, 1], [0, 1, 2]]
x[[[0, 1], [1, 0]]]  x[[0, slice(None)]]  x[[None, 0]]         x[[[0, 1], [1]]]     x[[[]]]              x[[0] * 40]
x[np.int64(1)]       x[np.array(1)]       x[np.array([0, 1])]  x[np.array([0., 1])] x[np.int64(1):]
x[np.float64(1)]
x[np.array([True, False])]                x[np.array([[0, 1], [1, 0]])]             x[np.array([1, 0], dtype=np.uint8)]
x[np.array([0, 1], dtype=np.int32)]       x[np.array([], dtype=np.int64)]           x[:, 0, np.arange(4)[::2]]
x[1.0]               x['a']               x[b'01']             x[['a']]             x[{1}]               x[{1: 2}]
x[object()]          x[1 + 2j]            x[0, 'a']            x[memoryview(b'\\0\\1')]  x[x > 5]         x[x[0] > 5]
x[x[:, :, 0] > 5]    x[:, x[0, :, 0] > 3] x[x > 100]           x[x]                 x[x[0, 0, 0]]
x[x[:, 0, 0] > 3, 1]
x[0, 0, 0][0]        x[0, 0, 0][None]     x[0, 0, 0][...]      x[0, 0, 0][()]       x[0, 0, 0][True]     x[0, 0, 0][:]
x[0, 0, 0][0, 0]     x[i]                 x[i, i]              x[:, m]              x[m, m]              x[i[0]]
x[i.to(I32)]         x[i.to(I16)]         x[i[0]:]             x[[i[0], i[1]]]      x[i, ..., m]         x[m]
"""

# The same with y a 2 x 3 tensor of zeros.
WRITE = """
y[0] = [1, 2, 3]; y[0] = (1, 2, 3); y[0] = np.array([1, 2, 3]); y[0] = np.float32(2); y[0] = True; y[0] = None
y['a'] = 1
del y[0]; y[5] = 1; y[[0, 0]] = 2; y[()] = 3; y[...] = 4; y[True] = 5; y[False] = 5; y[None] = 6; y[0] = 'a'
y[0] = 10**30
y[[True, False]] = 1; y[::2] = 1; y[::-1] = 1; y[1:, :-1] = 3; y[-1] = 2; y[None, 0] = 1.5; y[[[0], [1]], [0, 2]] = 4
y[0] = range(3); y[1.0] = 1; y[(0, 1, 2)] = 1; y[y >= 0] = np.float64(1); y[0] = np.int64(3); y[0] = y[1] + 2
y[:] = y[0] + 1
y[0, 0] = y[1, 1] + 3; y[y >= 0] = y[0, 0] + 2; y[[0, 1]] = y[0:1] + 1; y[:, None] = y[:, None] + 1; y[0] = y
y[:, :2] = y[None, None, :, :2] + 1; y[0, ...] = 5; y[..., 1] = y[:, 0] + 4; y[[1, 0]] = y + 1
y[:, [True, False, True]] = 7
y[i] = 1; y[i, 0] = y[:, 1] + 1; y[m] = 2; y[i] = i; y[0] = i[0]; y[:, 0] = i; y[m, 1] = y[0, 0] + 3; y[y > 5] = y[0]
"""


DIFFERENTIATED = "x[1]; x[:, 1:]; x[[1, 0]]; x[x.detach() > 5]; x[..., None, 2]; x[[0, 0], :, [1, 1]]"
DIFFERENTIATED_WRITES = "y[1] = v; y[:, 1:] = 2.0; y[[1, 0]] = v; y[y.detach() > 5] = 0.5; y[..., 0] = v[..., 0]"


def pieces(text, separator):
    """The expressions of a table."""
    return [t.strip() for line in text.strip().splitlines() for t in line.split(separator) if t.strip()]


def outcome(lib, run, value):
    """What a piece of code makes, or its exception's type."""
    names = {"np": np, "i": lib.arange(2), "m": lib.arange(4).remainder(2) == 1, "I32": lib.int32, "I16": lib.int16}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(value, names)
        except Exception as error:  # the kind is what is compared
            return type(error).__name__


def read(text):
    def run(x, names):
        result = eval(text, {"x": x, **names})
        return tuple(result.shape), str(result.dtype).split(".")[-1], result.tolist()

    return run


def written(text):
    def run(y, names):
        exec(text, {"y": y, **names})
        return y.tolist()

    return run


def cube(lib):
    return lib.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("text", pieces(READ, "  "))
def test_reading(text):
    assert outcome(shunt, read(text), cube(shunt)) == outcome(torch, read(text), cube(torch))


@pytest.mark.parametrize("text", pieces(WRITE, ";"))
def test_writing(text):
    assert outcome(shunt, written(text), shunt.zeros((2, 3))) == outcome(torch, written(text), torch.zeros(2, 3))


def test_views_share_memory_and_copies_do_not():
    for text in ("x[0]", "x[1:]", "x[:, None]", "x[...]", "x[()]", "x[:]", "x[0, 1:2, ..., None]"):
        x = cube(shunt).clone()
        view = eval(text)
        assert view._is_view() and view._base is x, text
        view.fill_(-1)
        assert (x == -1).any(), text
    for text in ("x[[0]]", "x[x > 3]", "x[True]", "x[0, [1]]"):
        x = cube(shunt)
        eval(text).fill_(-1)
        assert not (x == -1).any(), text


def test_a_list_that_means_several_indices_warns():
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        cube(shunt)[[0, slice(None)]]


@pytest.mark.parametrize("text", pieces(DIFFERENTIATED, ";"))
def test_gradients_of_reading(text):
    grads = []
    for lib in (shunt, torch):
        x = cube(lib).requires_grad_()
        part = eval(text)
        (part * part).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize("text", pieces(DIFFERENTIATED_WRITES, ";"))
def test_gradients_of_writing(text):
    grads = []
    for lib in (shunt, torch):
        x, v = cube(lib).requires_grad_(), lib.ones((3, 4)).requires_grad_()
        y = x * 3
        exec(text, {"y": y, "v": v})
        (y * y).sum().backward()
        grads.append((x.grad.tolist(), None if v.grad is None else v.grad.tolist()))
    assert grads[0] == grads[1]


def test_writing_to_leaves_is_an_error():
    x = shunt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[[0, 1]] = 1


def test_an_index_that_changes_while_it_is_read():
    class Changing:
        def __init__(self, indices):
            self.indices = indices

        def __index__(self):
            self.indices.clear()
            return 0

    indices = []
    indices += [Changing(indices), 1, 1]
    with pytest.raises(Exception):
        shunt.zeros(3)[indices]


class Draw:
    """Random index expressions for a shape; most fit it."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def shape(self):
        return [self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]) for _ in range(self.random.randrange(5))]

    def position(self, size):
        if size == 0 or self.random.random() < 0.02:
            return self.random.randrange(-6, 6)
        return self.random.randrange(-size, size)

    def bound(self, size):
        return self.random.choice(["", str(self.random.randrange(-size - 2, size + 3))])

    def positions(self, size, length):
        return [self.position(size) for _ in range(length)]

    def index(self, size, length):
        kind = self.random.randrange(12)
        if kind < 3:
            return str(self.position(size))
        if kind < 7:
            step = self.random.choice(["", "", ":1", ":2", ":3"])
            return f"{self.bound(size)}:{self.bound(size)}{step}"
        if kind == 7:
            return str([self.random.random() < 0.5 for _ in range(size)])
        if kind == 8:
            return f"L({[self.random.random() < 0.5 for _ in range(size)]}, B)" if size else "[]"
        if kind == 9:
            return str(self.positions(size, length))
        if kind == 10:
            return f"np.array({self.positions(size, length)}, dtype={self.random.choice(['int64', 'int32'])!r})"
        rows = [self.positions(size, length) for _ in range(self.random.randrange(1, 3))]
        return f"L({rows}, {self.random.choice(['I64', 'I32'])})"

    def key(self, shape):
        count = self.random.randrange(len(shape) + 1)
        length = self.random.choice([1, 2, 2, 3])
        parts = [self.index(size, length) for size in shape[:count]]
        if self.random.random() < 0.3:
            place = self.random.randrange(len(parts) + 1)
            tail = len(parts) - place
            parts[place:] = ["..."] + [self.index(size, length) for size in (shape[-tail:] if tail else [])]
        for _ in range(self.random.randrange(3)):
            if self.random.random() < 0.3:
                number = "L(1, I64)" if shape[:1] > [1] else "None"
                extra = self.random.choice(["None", "None", "True", "False", number])
                parts.insert(self.random.randrange(len(parts) + 1), extra)
        if self.random.random() < 0.02:
            parts.append("0")
        return ", ".join(parts) if parts else "()"


def names_of(lib):
    def tensor(values, dtype):
        return lib.arange(-8, 8)[np.array(values, dtype="int64") + 8].to(dtype)

    return {"np": np, "L": tensor, "B": lib.bool, "I64": lib.int64, "I32": lib.int32}


def compared(seed):
    """Raises where a random read, or a random write, differs from PyTorch's."""
    draw = Draw(seed)
    shape = draw.shape()
    key = draw.key(shape)
    count = 1
    for size in shape:
        count *= size
    results = []
    for lib in (shunt, torch):
        names = names_of(lib)
        x = lib.arange(count).reshape(shape)
        try:
            part = eval(f"x[{key}]", {"x": x, **names})
            result = [list(part.shape), part.tolist()]
            exec(f"x[{key}] = value", {"x": x, "value": -(part + 1), **names})
            exec(f"x[{key}] = x[{key}] * 2", {"x": x, **names})
            result.append(x.tolist())
            exec(f"x[{key}] = 7", {"x": x, **names})
            result.append(x.tolist())
        except Exception as error:
            result = type(error).__name__
        results.append(result)
    assert results[0] == results[1], f"seed {seed}: x = arange({count}).reshape({shape}); x[{key}]"


# SHUNT_INDEXING_SAMPLES: how many are drawn, at some 500 a second.
def test_random_expressions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(int(os.environ.get("SHUNT_INDEXING_SAMPLES", 2000))):
            compared(seed)
