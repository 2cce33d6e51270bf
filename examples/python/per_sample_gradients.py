"""Gradients of each sample at once, by vmap(grad(f)), and a step with gradients that are clipped one by one."""

import time

import shunt
from _options import parse
from shunt import nn
from shunt.func import functional_call, grad, vmap


def main():
    options = parse(__doc__, samples=64)
    shunt.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 3))
    weights = {name: p.detach() for name, p in model.named_parameters()}
    x, y = shunt.randn(options.samples, 10), shunt.randint(3, (options.samples,))

    def loss_of(weights, x, y):
        scores = functional_call(model, weights, (x.unsqueeze(0),))
        return nn.functional.cross_entropy(scores, y.unsqueeze(0))

    begin = time.perf_counter()
    at_once = vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, x, y)
    middle = time.perf_counter()
    one_by_one = [grad(loss_of)(weights, x[i], y[i]) for i in range(options.samples)]
    end = time.perf_counter()
    largest = max((at_once[name] - shunt.stack([g[name] for g in one_by_one])).abs().max().item() for name in weights)
    print(f"{options.samples} samples: at once {1e3 * (middle - begin):.2f} ms, one by one {1e3 * (end - middle):.2f} "
          f"ms, largest difference {largest:.1e}")

    norms = shunt.stack([g.flatten(1).square().sum(1) for g in at_once.values()]).sum(0).sqrt()
    factors = (1.0 / norms).clamp(max=1.0)
    clipped = {name: (g * factors.view(-1, *[1] * (g.dim() - 1))).mean(0) for name, g in at_once.items()}
    print(f"norms {norms.min().item():.3f} to {norms.max().item():.3f}; of the mean of the clipped gradients "
          f"{sum(g.square().sum().item() for g in clipped.values()) ** 0.5:.3f}")


if __name__ == "__main__":
    main()
