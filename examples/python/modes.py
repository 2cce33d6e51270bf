"""What dispatch modes are for: counting, timing, validating, replacing an operator, and finding out who called one."""

import time
import traceback
from collections import Counter

import shunt
from shunt.utils._python_dispatch import TorchDispatchMode


class Profile(TorchDispatchMode):
    """Counts calls and sums their times, by operator."""

    def __init__(self):
        super().__init__()
        self.calls, self.seconds = Counter(), Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        begin = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        self.calls[str(func.overloadpacket)] += 1
        self.seconds[str(func.overloadpacket)] += time.perf_counter() - begin
        return result


class NoNaN(TorchDispatchMode):
    """An error where an argument or a result of an operator has NaN. It leaves the call as it was raised."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for argument in args:
            self.check(argument, f"{func} got NaN")
        result = func(*args, **(kwargs or {}))
        self.check(result, f"{func} gave NaN")
        return result

    @staticmethod
    def check(value, message):
        if isinstance(value, shunt.Tensor) and value.is_floating_point() and value.isnan().any():
            raise ValueError(message)


def product(a, b):
    """A matrix product by a loop over the inner dimension."""
    return sum(a[:, k:k + 1] * b[k:k + 1, :] for k in range(a.shape[1]))


class OwnProduct(TorchDispatchMode):
    """Products by the function above, of matrices with more elements than `more_than`. Gradients stay those of the
    operator that it stands for."""

    def __init__(self, more_than=0):
        super().__init__()
        self.more_than, self.replaced = more_than, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket == shunt.ops.aten.mm and args[0].numel() > self.more_than:
            self.replaced += 1
            return product(*args)
        return func(*args, **(kwargs or {}))


class StackTrace(TorchDispatchMode):
    """Prints the functions of the program that a product is called from."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket == shunt.ops.aten.mm:
            frames = [f for f in traceback.extract_stack() if f.filename == __file__][:-1]  # without this one
            print("mm called from", ", ".join(f"{f.name}, line {f.lineno} `{f.line}`" for f in reversed(frames)))
        return func(*args, **(kwargs or {}))


def layer(x, w):
    return (x @ w).relu()


def main():
    shunt.manual_seed(0)
    a, b = shunt.randn(8, 4), shunt.randn(4, 8, requires_grad=True)
    with Profile() as profile:
        (a @ b).relu().sum().backward()
    for name, calls in profile.calls.most_common():
        print(f"{name:28} {calls} call{'s' if calls > 1 else ' '}  {1e6 * profile.seconds[name]:8.1f} us")

    for x in (shunt.tensor([-1.0]), shunt.tensor([float("nan")])):
        try:
            with NoNaN():
                x.sqrt()
        except ValueError as error:
            print("caught:", error)

    expected = a @ b
    with OwnProduct(), Profile() as inner:
        found = a @ b
    print("replaced:", shunt.allclose(found, expected), found.grad_fn.name(), dict(inner.calls))

    with OwnProduct(more_than=1000) as large:
        small, found = a @ b, shunt.ones(40, 40) @ shunt.ones(40, 40)
    print("replaced by size:", large.replaced, "of 2,", shunt.equal(small, expected) and found.eq(40).all().item())

    with StackTrace():
        layer(a, b)


if __name__ == "__main__":
    main()
