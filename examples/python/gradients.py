"""Gradients: of gradients, by a custom function, without recording, and of functions: jvp, jacrev, hessian."""

import shunt
from shunt.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap


class Clip(shunt.autograd.Function):
    """The identity, whose gradient has at most a given length."""

    @staticmethod
    def forward(ctx, x, longest):
        ctx.longest = longest
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (ctx.longest / gradient.norm()).clamp(max=1), None


def check(so, what):
    if not so:
        raise SystemExit(f"not so: {what}")
    print(what)


def main():
    x = shunt.tensor([1.0, 2.0], requires_grad=True)
    (first,) = shunt.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (second,) = shunt.autograd.grad(first.sum(), x)
    check(second.tolist() == [6.0, 12.0], "a gradient of a gradient: 6 x")

    (Clip.apply(x, 0.5) * shunt.tensor([3.0, 4.0])).sum().backward()
    check(abs(x.grad.norm().item() - 0.5) < 1e-6, "a custom function: the gradient has length 0.5, not 5")

    with shunt.no_grad():
        x -= 0.1 * x.grad
        check((x * 2).grad_fn is None, "in no_grad() nothing is recorded")

    seen = []
    handle = x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (x * 2).sum().backward()
    handle.remove()
    check(seen == [[2.0, 2.0]], "a hook saw the gradient")

    def f(v):
        return (v ** 3).sum()

    v, direction = shunt.tensor([1.0, 2.0]), shunt.tensor([1.0, 0.0])
    check(grad(f)(v).tolist() == [3.0, 12.0], "grad")
    check(jvp(f, (v,), (direction,))[1].item() == 3.0, "jvp: the derivative in a direction")
    check(vjp(f, v)[1](shunt.tensor(2.0))[0].tolist() == [6.0, 24.0], "vjp: a gradient that begins with 2")
    check(jacrev(lambda t: t ** 2)(v).tolist() == [[2.0, 0.0], [0.0, 4.0]], "jacrev")
    check(hessian(f)(v).tolist() == [[6.0, 0.0], [0.0, 12.0]], "hessian")

    # Ten networks in one call: their parameters are stacked.
    layer = shunt.nn.Linear(3, 1)
    stacked = {name: shunt.stack([p.detach() * k for k in range(10)]) for name, p in layer.named_parameters()}
    outputs = vmap(lambda p, data: functional_call(layer, p, (data,)), in_dims=(0, None))(stacked, shunt.ones(4, 3))
    check(outputs.shape == (10, 4, 1) and shunt.allclose(outputs[1], layer(shunt.ones(4, 3))),
          "functional_call in vmap: ten networks at once")


if __name__ == "__main__":
    main()
