"""Memory shared with NumPy and with other libraries, and code that is written for any array library."""

import sys

import shunt


def normalised(x):
    """Rows of length 1, by the Python array API standard: for arrays of any library that has it."""
    xp = x.__array_namespace__()
    return x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True))


def main():
    try:
        import numpy as np
    except ImportError:
        print("skipped: NumPy is not installed")
        return 77

    n = np.zeros((2, 3), dtype=np.float32)
    t = shunt.from_numpy(n)
    t += 1
    print("from_numpy shares memory:", bool((n == 1).all()))
    assert (n == 1).all() and np.shares_memory(t.numpy(), n)

    d = shunt.from_dlpack(n)
    d[0, 0] = 7
    back = np.from_dlpack(d)
    print("DLPack shares memory, both ways:", n[0, 0] == 7 and np.shares_memory(back, n))
    assert n[0, 0] == 7 and np.shares_memory(back, n)

    x = shunt.tensor([[3.0, 4.0], [0.0, 2.0]])
    lengths = (normalised(x) ** 2).sum(1)
    print("the array API:", normalised(x).tolist())
    assert shunt.allclose(lengths, shunt.ones(2))
    assert type(normalised(x)) is shunt.Tensor

    print("NumPy's functions take tensors:", np.add(x, 1).tolist())
    return 0


if __name__ == "__main__":
    sys.exit(main())
