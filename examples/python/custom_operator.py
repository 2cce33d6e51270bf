"""An operator of one's own: a kernel, a kernel for fake tensors, and a gradient."""

import shunt
import shunt._subclasses.fake_tensor
from shunt import library


@library.custom_op("examples::soft_clip", mutates_args=())
def soft_clip(x: shunt.Tensor, limit: float) -> shunt.Tensor:
    return limit * (x / limit).tanh()


@soft_clip.register_fake
def _(x, limit):
    return shunt.empty_like(x)


def keep(ctx, inputs, output):
    x, ctx.limit = inputs
    ctx.save_for_backward(output)


def backward(ctx, grad):
    (output,) = ctx.saved_tensors
    return grad * (1 - (output / ctx.limit) ** 2), None


soft_clip.register_autograd(backward, setup_context=keep)


def main():
    x = shunt.linspace(-4, 4, 5, dtype=shunt.float64, requires_grad=True)
    y = soft_clip(x, 2.0)
    y.sum().backward()
    print("values   ", [round(v, 3) for v in y.tolist()])
    print("gradients", [round(v, 3) for v in x.grad.tolist()])
    print("gradcheck", shunt.autograd.gradcheck(lambda x: soft_clip(x, 2.0), (x,)))
    print("called by name:", shunt.equal(shunt.ops.examples.soft_clip(x, 2.0), y))
    with shunt._subclasses.fake_tensor.FakeTensorMode():
        print("fake:", tuple(soft_clip(shunt.empty(1000, 1000), 2.0).shape))


if __name__ == "__main__":
    main()
