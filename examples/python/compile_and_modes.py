"""Dispatch modes and compiled functions: a mode around the calls, one inside of the function, and fullgraph=True."""

import warnings

import shunt
from shunt.utils._python_dispatch import TorchDispatchMode


class OwnProduct(TorchDispatchMode):
    """Products of matrices by broadcasting, counted."""

    def __init__(self):
        super().__init__()
        self.replaced = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket == shunt.ops.aten.mm:
            self.replaced += 1
            return (args[0].unsqueeze(2) * args[1].unsqueeze(0)).sum(1)
        return func(*args, **(kwargs or {}))


def layer(x, w):
    return (x @ w * 2).relu()


def hits(compiled):
    return compiled.counts()["hits"]


def main():
    # Small whole numbers, whose products and sums are exact in any order.
    x, w = shunt.arange(32.0).view(4, 8), shunt.arange(24.0).view(8, 3)
    expected = layer(x, w)

    # A mode around the calls sees every operator: under it calls run the function, and outside of it the graph.
    around, mode = shunt.compile(layer), OwnProduct()
    for _ in range(4):
        around(x, w)
    before = hits(around)
    with mode:
        result = around(x, w)
    print(f"around: {mode.replaced} product replaced, {hits(around) - before} graphs run,",
          shunt.equal(result, expected))

    # A function that enters a mode is run by each call, and explain() says why.
    @shunt.compile
    def inside(x, w):
        with OwnProduct():
            return layer(x, w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same, as a warning
        same = all(shunt.equal(inside(x, w), expected) for _ in range(4))
    print(f"inside: {hits(inside)} graphs run, {same}")
    print(inside.explain())

    # fullgraph=True makes it an error if the function can't be a graph. A mode around a call is none.
    whole, mode = shunt.compile(layer, fullgraph=True), OwnProduct()
    for _ in range(4):
        whole(x, w)
    with mode:
        result = whole(x, w)
    print(f"fullgraph: {mode.replaced} product replaced, {hits(whole)} graphs run,", shunt.equal(result, expected))


if __name__ == "__main__":
    main()
