"""The 17 models that bench/torch/run --backend compiles: nine of the package transformers, four other networks, four scientific fits.

Each is a module that takes a batch by name. With `labels` in it the result is a loss, for training; without, it is an inference.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from programs import BATCHES, Work, pendulum_energy, perceptron

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "torch"))
import transformers_models  # noqa: E402

WIDTH, SIZE, LENGTH = 128, 4, 16  # of transformers' models: features, sequences or images, tokens
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None


class Regression(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x, labels=None):
        y = self.model(x)
        return y if labels is None else F.mse_loss(y, labels)


class UNetBlock(nn.Module):
    """A level of a diffusion model: residual blocks with the time's embedding around attention at half the resolution."""

    def __init__(self, channels: int = 32):
        super().__init__()
        self.time = nn.Linear(channels, 2 * channels)
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for _ in range(4))
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(4))
        self.down = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)
        self.join = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def block(self, i, x, shift):
        h = self.convolutions[i](F.silu(self.norms[i](x))) + shift[:, :, None, None]
        return x + self.convolutions[i + 1](F.silu(self.norms[i + 1](h)))

    def forward(self, x, time, labels=None):
        before, after = self.time(F.silu(time)).chunk(2, 1)
        skipped = self.block(0, x, before)
        h = self.down(skipped)
        q, k, v = self.qkv(h).flatten(2).transpose(1, 2).unflatten(2, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).transpose(1, 2)
        h = F.interpolate(h + self.out(attended.unflatten(2, h.shape[2:])), scale_factor=2.0)
        y = self.block(2, self.join(torch.cat([h, skipped], 1)), after)
        return y if labels is None else F.mse_loss(y, labels)


class VAE(nn.Module):
    """Images of 28x28 in 16 numbers."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 32))
        self.decode = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())

    def forward(self, x, labels=None):
        mean, log_variance = self.encode(x).chunk(2, 1)
        if labels is None:
            return self.decode(mean)
        image = self.decode(mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance))
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (F.binary_cross_entropy(image, labels, reduction="sum") + divergence) / x.shape[0]


class Pendulums(nn.Module):
    def __init__(self):
        super().__init__()
        self.gravity, self.damping = nn.Parameter(torch.full((256,), 9.81)), nn.Parameter(torch.full((256,), 0.1))

    def forward(self, angle, speed, labels=None):
        energy = pendulum_energy(angle, speed, self.gravity, self.damping)
        return energy if labels is None else (energy - labels).square()


class NBody(nn.Module):
    """Masses from where 64 bodies are after four leapfrog steps."""

    def __init__(self):
        super().__init__()
        self.log_mass = nn.Parameter(0.1 * torch.randn(64))

    def forward(self, place, speed, labels=None):
        mass, dt = self.log_mass.exp(), 0.01
        for _ in range(4):
            place = place + 0.5 * dt * speed
            apart = place[None] - place[:, None]
            distance = (apart.square().sum(2) + 0.01).sqrt()
            speed = speed + dt * (apart * (mass / distance.pow(3))[:, :, None]).sum(1)
            place = place + 0.5 * dt * speed
        return place if labels is None else F.mse_loss(place, labels)


class GaussianProcess(nn.Module):
    """Its marginal likelihood on 64 points; as inference, its mean elsewhere."""

    def __init__(self):
        super().__init__()
        self.log_length, self.log_scale = nn.Parameter(torch.tensor(0.1)), nn.Parameter(torch.tensor(0.2))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, a, b):
        return torch.exp(self.log_scale - 0.5 * (a[:, None] - b[None]).square().sum(2) / torch.exp(2 * self.log_length))

    def forward(self, x, y, elsewhere, labels=None):
        covariance = self.kernel(x, x) + self.log_noise.exp() * torch.eye(x.shape[0])
        factor = torch.linalg.cholesky(covariance)
        weights = torch.cholesky_solve(y[:, None], factor)[:, 0]
        if labels is None:
            return self.kernel(elsewhere, x) @ weights
        return 0.5 * y @ weights + factor.diagonal().log().sum()


class Histogram(nn.Module):
    """A peak on a falling background: the likelihood of counts in 100 bins."""

    def __init__(self):
        super().__init__()
        self.numbers = nn.Parameter(torch.tensor([100.0, 0.4, 0.05, 50.0, 1.0]))
        self.register_buffer("centres", (torch.arange(100) + 0.5) / 100)

    def forward(self, counts, labels=None):
        signal, mean, width, background, slope = self.numbers.unbind()
        peak = torch.exp(-0.5 * ((self.centres - mean) / width).square()) / width
        rate = signal * peak + background * torch.exp(-slope * self.centres) + 0.1
        terms = rate - torch.xlogy(counts, rate) + torch.lgamma(counts + 1)
        return terms if labels is None else terms.sum()


def encoder_layer() -> nn.Module:
    return Regression(nn.TransformerEncoderLayer(64, 4, dim_feedforward=128, batch_first=True))


def drawn(**shapes: tuple) -> Callable:
    """A function that makes a batch of normally distributed tensors."""
    return lambda seed: {name: torch.randn(shape, generator=torch.Generator().manual_seed(seed + 100 * i))
                         for i, (name, shape) in enumerate(shapes.items())}


def mapped(make: Callable, change: Callable) -> Callable:
    return lambda seed: {name: change(x) for name, x in make(seed).items()}


def transformers_model(name: str) -> tuple[Callable, Callable]:
    return (lambda: transformers_models.make_model(name, WIDTH),
            lambda seed: transformers_models.make_batch(name, name in transformers_models.TAKE_MASKS, seed, SIZE, LENGTH))


# What makes the module, and a batch with labels from a seed.
MODELS: dict[str, tuple[Callable, Callable]] = {
    **{name: transformers_model(name) for name in transformers_models.MODELS},
    "UNet": (UNetBlock, drawn(x=(4, 32, 16, 16), time=(4, 32), labels=(4, 32, 16, 16))),
    "VAE": (VAE, mapped(drawn(x=(64, 784), labels=(64, 784)), torch.sigmoid)),
    "encoder-layer": (encoder_layer, drawn(x=(4, 16, 64), labels=(4, 16, 64))),
    "MLP": (lambda: Regression(perceptron(64)()), drawn(x=(32, 64), labels=(32, 64))),
    "RK4-pendulum": (Pendulums, drawn(angle=(256,), speed=(256,), labels=())),
    "n-body": (NBody, drawn(place=(64, 3), speed=(64, 3), labels=(64, 3))),
    "GP": (GaussianProcess, drawn(x=(64, 2), y=(64,), elsewhere=(32, 2), labels=())),
    "histogram": (Histogram, mapped(drawn(counts=(100,), labels=()), lambda x: (50 + 5 * x).round().clamp(0))),
}


def make_work(name: str, kind: str, compiled: Callable) -> Work:
    """The model in `kind` "inference" or "training", one step of it forward, or forward and backward. `compiled`: what to make of it."""
    torch.manual_seed(0)
    make, batch = MODELS[name]
    model = make().train(kind == "training")
    call = compiled(model)
    batches = [batch(i) for i in range(BATCHES)]
    if kind == "inference":
        for b in batches:
            labels = b.pop("labels")
            if name in ("T5", "Whisper"):
                b["decoder_input_ids"] = labels

    def train(batch):
        model.zero_grad(set_to_none=True)
        out = call(**batch)
        loss = out if isinstance(out, torch.Tensor) else out.loss
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def infer(batch):
        out = call(**batch)
        return out if isinstance(out, torch.Tensor) else out.logits

    return Work(train if kind == "training" else infer, [(b,) for b in batches], [model])
