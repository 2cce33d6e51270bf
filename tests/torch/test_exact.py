"""What exact mode fuses has the bits of PyTorch's kernels: for every length up to 70, strided, broadcast, for special values.

ATEN_CPU_CAPABILITY chooses PyTorch's kernels when it is loaded, so each capability that this CPU has runs in a process of its own.
"""

import os
import subprocess
import sys

import pytest
import torch

from shunt_torch import capture

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, float("inf"), -float("inf"), float("nan"), 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, 1e-7, 0.1]
CAPABILITIES = ["default", "avx2", "avx512"]



def pooled(a, b, kernel, stride, padding):
    """Largest elements of windows of a wide image, where they are, and the gradient of them."""
    image = torch.stack([a, b, b, a, b]).unsqueeze(0)
    if image.shape[2] < kernel:
        return (a * b,)
    window = [[kernel] * 2, [stride] * 2, [padding] * 2, [1, 1], False]
    values, indices = torch.ops.aten.max_pool2d_with_indices(image, *window)
    return values, indices, torch.ops.aten.max_pool2d_with_indices_backward(values, image, *window, indices)


OPERATORS = {
    "add": lambda a, b: a + b,
    "add alpha": lambda a, b: torch.add(a, b, alpha=-0.013),
    "add number": lambda a, b: a + 0.3,
    "add_ alpha": lambda a, b: a.clone().add_(b, alpha=0.7),
    "sub": lambda a, b: a - b,
    "sub alpha": lambda a, b: torch.sub(a, b, alpha=0.013),
    "sub_": lambda a, b: a.clone().sub_(b, alpha=3),
    "mul": lambda a, b: a * b,
    "mul number": lambda a, b: a * 0.9,
    "mul_": lambda a, b: a.clone().mul_(0.9).mul_(b),
    "div": lambda a, b: a / b,
    "div number": lambda a, b: a / 3,
    "div_": lambda a, b: a.clone().div_(b),
    "neg": lambda a, b: -a,
    "abs": lambda a, b: a.abs(),
    "relu": lambda a, b: a.relu(),
    "relu_": lambda a, b: a.clone().relu_(),
    "threshold_backward": lambda a, b: torch.ops.aten.threshold_backward(a, b, 0),
    "mse_loss_backward": lambda a, b: tuple(torch.ops.aten.mse_loss_backward(g, a, b, r) for g, r in ((a, 0), (b[0] * 3, 1), (b[-1] + 1, 2))),
    "where": lambda a, b: torch.where(a < b, a, b),
    "comparisons": lambda a, b: ((a == b), (a != b), (a < b), (a <= b), (a > b), (a >= b)),
    "comparisons with numbers": lambda a, b: ((a == 1), (a != 1), (a < 1), (a <= 1), (a > 1), (a >= 1)),
    "chain": lambda a, b: ((a * 0.9).add_(b, alpha=-0.1) / (b.abs() + 1)).relu() - a,
    "broadcast": lambda a, b: (a.unsqueeze(1) * b) - a[:1],
    "stack and cat": lambda a, b: (torch.stack([a, b, a]), torch.cat([a, b])),
    "zeros that are written": lambda a, b: a.new_zeros(a.shape).add_(b),
    "max and min along a dimension": lambda a, b: (*torch.stack([a, b, a]).max(0), *torch.stack([b, a]).min(0)),
    "max and min of rows": lambda a, b: (*torch.stack([a, b]).max(1), *torch.stack([a, b]).min(1, keepdim=True)),
    "gather": lambda a, b: a.gather(0, torch.arange(len(a)).flip(0)) * b,
    "max_pool2d": lambda a, b: (*pooled(a, b, 2, 2, 0), *pooled(b, a, 2, 1, 0), *pooled(a, b, 3, 2, 0)),
    "max_pool2d with padding": lambda a, b: (*pooled(a, b, 3, 1, 1), *pooled(b, a, 3, 2, 1)),
    "of an expanded one": lambda a, b: a.new_ones(()).expand(a.shape) * b + a,
}


def operands(dtype, length, strided, generator):
    """Random values with special ones strewn in, every pair of them where there is room."""
    out = []
    for which in range(2):
        t = torch.randn(length, generator=generator, dtype=torch.float64)
        s = torch.tensor(SPECIAL, dtype=torch.float64)
        pairs = s.repeat(len(SPECIAL)) if which else s.repeat_interleave(len(SPECIAL))
        n = length if length > 200 else length // 3
        start = int(torch.randint(0, pairs.numel() - min(n, pairs.numel()) + 1, (), generator=generator))
        t[: min(n, pairs.numel())] = pairs[start : start + min(n, pairs.numel())]
        t = t.to(dtype)
        if strided:
            wide = torch.zeros(length, 3, dtype=dtype)
            wide[:, 1] = t
            t = wide[:, 1]
        out.append(t)
    return out


def bits(t):
    if not t.dtype.is_floating_point:
        return t
    whole = torch.int32 if t.dtype is torch.float32 else torch.int64
    return torch.where(t.isnan(), torch.full_like(t, float("nan")), t).view(whole)


def assert_exact(name, dtype, strided):
    function, generator = OPERATORS[name], torch.Generator().manual_seed(1)
    lengths = [*range(1, 71), len(SPECIAL) ** 2]

    @torch.no_grad()
    def all_lengths(pairs):
        return [function(a, b) for a, b in pairs]

    captured = capture(all_lengths, check="never")
    for _ in range(5):
        pairs = [tuple(operands(dtype, n, strided, generator)) for n in lengths]
        for n, theirs, ours in zip(lengths, all_lengths(pairs), captured(pairs)):
            for a, b in zip(theirs if isinstance(theirs, tuple) else (theirs,), ours if isinstance(ours, tuple) else (ours,)):
                assert a.stride() == b.stride() and torch.equal(bits(a), bits(b)), f"{name}, {n} elements"
    recording = captured._recordings[0]
    fused = [operator for place, operator, _ in recording.describe() if place == "fused"]
    assert recording.runs == 2 and len(fused) >= len(lengths), captured.explain()


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_fused_operators_have_the_bits_of_pytorchs(name, dtype, strided):
    assert_exact(name, dtype, strided)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_also_of_other_kernels(capability):
    if torch.backends.cpu.get_cpu_capability().lower() == capability:
        pytest.skip("these are the kernels of this process")
    environment = dict(os.environ, ATEN_CPU_CAPABILITY=capability)
    got = subprocess.run([sys.executable, "-c", "import torch; print(torch.backends.cpu.get_cpu_capability().lower())"],
                         env=environment, capture_output=True, text=True).stdout.strip()
    # The variable is believed, so the CPU is asked.
    flags = open("/proc/cpuinfo", encoding="utf-8").read() if os.path.exists("/proc/cpuinfo") else ""
    if got != capability or {"avx2": "avx2", "avx512": "avx512bw"}.get(capability, "") not in flags:
        pytest.skip(f"this CPU has no {capability}")
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "pytorchs"],
                           env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stdout[-4000:]
