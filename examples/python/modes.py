"""What dispatch modes are for: counting, timing, validating, and replacing an operator."""

import time
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
    """An error where an operator's result has NaN."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, shunt.Tensor) and result.is_floating_point() and result.isnan().any():
            raise ValueError(f"{func} gave NaN")
        return result


class OwnProduct(TorchDispatchMode):
    """Products by a loop over the inner dimension. Gradients stay those of the operator that it stands for."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket == shunt.ops.aten.mm:
            a, b = args
            return sum(a[:, k:k + 1] * b[k:k + 1, :] for k in range(a.shape[1]))
        return func(*args, **(kwargs or {}))


def main():
    shunt.manual_seed(0)
    a, b = shunt.randn(8, 4), shunt.randn(4, 8, requires_grad=True)
    with Profile() as profile:
        (a @ b).relu().sum().backward()
    for name, calls in profile.calls.most_common():
        print(f"{name:28} {calls} call{'s' if calls > 1 else ' '}  {1e6 * profile.seconds[name]:8.1f} us")

    try:
        with NoNaN():
            shunt.tensor([-1.0]).sqrt()
    except ValueError as error:
        print("caught:", error)

    expected = a @ b
    with OwnProduct(), Profile() as inner:
        found = a @ b
    print("replaced:", shunt.allclose(found, expected), found.grad_fn.name(), dict(inner.calls))


if __name__ == "__main__":
    main()
