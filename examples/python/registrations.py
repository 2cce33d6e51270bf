"""Operators and kernels, piece by piece: a library object, an override that ends, operators as objects, explain."""

import warnings

import shunt
from shunt.func import vmap

calls: list[tuple] = []


def define(library):
    """examples::shift, with kernels for values, for shapes, and for gradients."""
    library.define("shift(Tensor x, float by) -> Tensor")

    def kernel(x, by):
        calls.append(tuple(x.shape))
        return x + by

    library.impl("shift", kernel, "CPU")
    library.impl("shift", lambda x, by: shunt.empty_like(x), "Meta")


def override():
    """A kernel of the library itself, replaced for a while."""
    library = shunt.library.Library("aten", "IMPL", "CPU")
    library.impl("relu", lambda x: x * 10)
    during = shunt.relu(shunt.ones(2)).tolist()
    library._destroy()  # the kernel that was replaced is in force again
    after = shunt.relu(shunt.ones(2)).tolist()
    print("relu of ones, overridden:", during, "after that:", after)
    assert during == [10.0, 10.0] and after == [1.0, 1.0]


def above_the_backend():
    """A kernel above the backend: it sees calls that record gradients, and goes on with the keys below."""
    seen = []
    library = shunt.library.Library("examples", "FRAGMENT")

    def noted(keys, x, by):
        seen.append(keys.has("AutogradCPU"))
        return shunt.ops.examples.shift.default.redispatch(keys & shunt._C._after_autograd_keyset, x, by)

    library.impl("shift", noted, "Autograd", with_keyset=True)
    shunt.ops.examples.shift(shunt.ones(2, requires_grad=True), 1.0)
    shunt.ops.examples.shift(shunt.ones(2), 1.0)  # records nothing, so this kernel isn't called
    library._destroy()
    print("the Autograd kernel saw", len(seen), "of 2 calls")
    assert seen == [True]


def objects():
    """Operators as objects: overloads, schemas, and what a call would run."""
    add, x = shunt.ops.aten.add.Tensor, shunt.ones(2, 3)
    print(add, "is", add._schema)
    assert add.overloadpacket is shunt.ops.aten.add and shunt.equal(add(x, x, alpha=2), x * 3)
    text = str(shunt.explain("aten::add.Tensor", x, x))
    print(next(line for line in text.splitlines() if line.startswith("->")))
    dump = shunt._C._dispatch_dump("examples::shift")
    print("\n".join(line.partition(": ")[0] for line in dump.splitlines() if "registered at" in line))


def batches():
    """Without a rule vmap calls the kernel for each sample, with one once for all."""
    shift = shunt.ops.examples.shift
    xs = shunt.randn(5, 3)
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no rule
        looped = vmap(lambda x: shift(x, 1.0))(xs)
    each = len(calls)

    @shunt.library.register_vmap("examples::shift")
    def rule(info, in_dims, x, by):
        return shift(x, by), in_dims[0]

    calls.clear()
    at_once = vmap(lambda x: shift(x, 1.0))(xs)
    print(f"vmap: {each} calls without a rule, {len(calls)} with one; the same: {shunt.equal(looped, at_once)}")
    assert each == 5 and calls == [(5, 3)] and shunt.equal(looped, at_once)


def main():
    library = shunt.library.Library("examples", "FRAGMENT")
    define(library)
    print("shape without data:", tuple(shunt.ops.examples.shift(shunt.empty(2, 3, device="meta"), 1.0).shape))
    found = shunt.library.opcheck(shunt.ops.examples.shift.default, (shunt.ones(3), 1.0))
    print("opcheck:", ", ".join(sorted(set(found.values()))))
    assert set(found.values()) == {"SUCCESS"}
    override()
    above_the_backend()
    objects()
    batches()


if __name__ == "__main__":
    main()
