"""Calls everything that takes arguments with random objects of Python's; it must end in a value or an exception.

    PYTHONPATH=build/release/python python tests/python/fuzz_arguments.py [--seconds 600] [--seed N] [--verbose]

Under AddressSanitizer: a binding of a sanitized build, LD_PRELOAD=libclang_rt.asan.so, PYTHONMALLOC=malloc. A crash
names the seed on its last line; --verbose names each call, so that the last line is the one that crashed.
SystemError, which is Python's for a broken promise of C, counts as a failure.
"""

import argparse
import gc
import os
import random
import resource
import signal
import sys
import time
import warnings

import shunt
import shunt.nn.functional as F

# Names that end the process, wait, write files, or change what all calls see.
SKIPPED = ("set_default", "save", "load", "as_torch", "set_num", "manual_seed", "set_printoptions", "set_rng_state",
           "set_autocast", "compile", "set_flush", "seed", "fork", "breakpoint", "from_file", "set_grad_enabled",
           "inference_mode", "no_grad", "enable_grad", "to_torch")  # whose import, once interrupted, crashes
MOST_ELEMENTS = 1 << 16  # of a result that is printed
LONGEST_CALL = 2.0  # seconds


class Index:
    """An int to whoever asks, which may change a list meanwhile."""

    def __init__(self, value, then=None):
        self.value, self.then = value, then

    def __index__(self):
        if self.then is not None:
            self.then()
        return self.value


class Raises:
    def __getattr__(self, name):
        raise ValueError(name)

    def __index__(self):
        raise KeyError("index")

    def __float__(self):
        raise OverflowError("float")

    def __bool__(self):
        raise MemoryError("bool")

    def __len__(self):
        raise IndexError("len")

    def __iter__(self):
        raise StopIteration


class Sub(shunt.Tensor):
    pass


class Handled(shunt.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if random.random() < 0.3:
            return NotImplemented
        return super().__torch_function__(function, types, args, kwargs or {})


class LikeATensor:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__


class List(list):
    def __getitem__(self, place):
        raise RuntimeError("getitem")


class Fuzzer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.keywords = ("dim", "keepdim", "out", "dtype", "device", "size", "other", "input", "alpha", "axis", "self",
                         "requires_grad", "generator", "memory_format", "correction", "descending", "weight", "x1", "")

    # --- objects ---

    def number(self):
        r = self.random
        return r.choice((0, 1, -1, 2, 3, r.randrange(-5, 6), 2**50, -2**63, 2**63, 10**30, True, False, 0.0, 1.5, -0.0,
                         float("nan"), float("inf"), 1e308, 1j))

    def tensor(self):
        r = self.random
        shape = [r.choice((0, 1, 2, 2, 3, 3)) for _ in range(r.randrange(4))]
        dtype = r.choice((shunt.float32, shunt.float32, shunt.float64, shunt.int64, shunt.int32, shunt.uint8,
                          shunt.bool,
                          shunt.bfloat16, shunt.float16))
        x = shunt.ones(shape, dtype=dtype) if r.random() < 0.5 else shunt.zeros(shape, dtype=dtype)
        kind = r.random()
        if kind < 0.15 and dtype.is_floating_point:
            x.requires_grad_()
            return x * 1 if kind < 0.07 else x
        if kind < 0.25:
            return x.as_subclass(r.choice((Sub, Handled)))
        if kind < 0.3:
            return shunt.nn.Parameter(x, False)
        if kind < 0.35 and x.dim() > 1:
            return x.transpose(0, 1)
        if kind < 0.38:
            return shunt.empty(shape, dtype=dtype, device="meta")
        return x

    def list(self, depth):
        items = [self.object(depth + 1) if self.random.random() < 0.3 else None for _ in range(self.random.randrange(5))]
        alike = self.random.choice((self.number, self.tensor, lambda: self.random.randrange(4), lambda: None))
        items = [alike() if item is None else item for item in items]
        return items

    def object(self, depth=0):
        r = self.random
        kind = r.random()
        if kind < 0.4:
            return self.tensor()
        if kind < 0.6:
            return self.number()
        if kind < 0.78 and depth < 3:
            items = self.list(depth)
            return r.choice((lambda: items, lambda: tuple(items), lambda: List(items), lambda: self.changing(items),
                             lambda: self.circle(items), lambda: dict(enumerate(items)), lambda: iter(items)))()
        return r.choice((
            lambda: None, lambda: ..., lambda: "ij,jk", lambda: "a", lambda: "mean", lambda: "\\ud800", lambda: b"x",
            lambda: slice(None), lambda: slice(self.number(), None, 2), lambda: Raises(), lambda: Index(1),
            lambda: LikeATensor(), lambda: shunt.float64, lambda: shunt.device("cpu"), lambda: "cuda",
            lambda: shunt.strided, lambda: shunt.contiguous_format, lambda: shunt.Generator(), lambda: shunt.Size([2]),
            # No classes that have methods: CPython 3.11 itself crashes in f(str) after many f("") of x.encode().
            lambda: object(), lambda: type, lambda: len, lambda: {1, 2}, lambda: range(3),
            lambda: bytearray(b"1234"), lambda: memoryview(b"12"), lambda: (lambda *a: None)))()

    def changing(self, items):
        """A list that the conversion of its first element empties, or fills with others."""
        def change():
            del items[1:]
            if self.random.random() < 0.5:
                items.extend([None, 7, object()])
        items.insert(0, Index(1, change))
        return items

    def circle(self, items):
        items.append(items)
        return items

    # --- calls ---

    def targets(self):
        found = []
        for module in (shunt, F, shunt.linalg, shunt.special, shunt.func):
            found += [(f"{module.__name__}.{name}", getattr(module, name, None)) for name in dir(module)
                      if not name.startswith("_") and not any(s in name for s in SKIPPED)]
        found = [(name, f) for name, f in found if callable(f) and not isinstance(f, type(shunt))]
        found += [(name, None) for name in dir(shunt.Tensor)
                  if not any(s in name for s in SKIPPED) and name not in ("__class__", "__dict__", "__del__")
                  and callable(getattr(shunt.Tensor, name)) and (not name.startswith("_") or name.startswith("__"))]
        return found

    def call(self, name, function, verbose):
        r = self.random
        args = [self.object() for _ in range(r.choice((0, 1, 1, 1, 2, 2, 3, 4)))]
        kwargs = {r.choice(self.keywords): self.object() for _ in range(r.choice((0, 0, 0, 1, 2)))}
        if function is None:
            function = getattr(self.tensor(), name)
        if verbose:
            print(name, [type(a).__name__ for a in args], {k: type(v).__name__ for k, v in kwargs.items()}, flush=True)
        return function(*args, **kwargs)


def give_up(*_):
    raise TimeoutError("a loop over what a huge number asks for")


def fuzz(seconds, seed, verbose=False):
    """How many calls there were, and how many of them had a value. Raises what isn't an ordinary exception."""
    fuzzer = Fuzzer(seed)
    random.seed(seed)
    signal.signal(signal.SIGALRM, give_up)
    targets = fuzzer.targets()
    calls = values = 0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        name, function = fuzzer.random.choice(targets)
        calls += 1
        try:
            signal.setitimer(signal.ITIMER_REAL, LONGEST_CALL)
            result = fuzzer.call(name, function, verbose)
            values += 1
            if isinstance(result, shunt.Tensor) and 0 < result.numel() < MOST_ELEMENTS and not result.is_meta:
                repr(result)
        except SystemError:
            print(f"{name}: SystemError", file=sys.stderr)
            raise
        except (Exception, StopIteration):
            pass
        if calls % 2000 == 0:
            gc.collect()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return calls, values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which maps more than that
        resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
    print(f"seed {arguments.seed}", file=sys.stderr, flush=True)
    calls, values = fuzz(arguments.seconds, arguments.seed, arguments.verbose)
    print(f"{calls} calls, {values} with a value, the others with an exception")


if __name__ == "__main__":
    main()
