#!/usr/bin/env python3
"""Times the calls of bench_calls on an installed PyTorch, called from Python, where no libtorch 1.13 was found.

Usage: pytorch.py FILE.tsv        what `bench_calls --tsv FILE.tsv` wrote; its empty column of the peer is filled
Prints the rows that it timed. Exit status 1 where PyTorch can't be imported.
"""

import contextlib
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

CASES = {
    "add": lambda a, b, w: torch.add(a, b),
    "mul": lambda a, b, w: torch.mul(a, b),
    "relu": lambda a, b, w: torch.relu(a),
    "sigmoid": lambda a, b, w: torch.sigmoid(a),
    "sum": lambda a, b, w: torch.sum(a),
    "mm": lambda a, b, w: torch.mm(a, b),
    "linear": lambda a, b, w: F.linear(a, b, w),
}


def nanoseconds(call):
    """The median time of a call, over rounds of about two milliseconds of CPU time."""
    count = 1
    while True:
        start = time.thread_time_ns()
        for _ in range(count):
            call()
        took = time.thread_time_ns() - start
        if took > 500_000:
            break
        count *= 4
    count = max(1, count * 2_000_000 // took)
    rounds = []
    for _ in range(9):
        start = time.thread_time_ns()
        for _ in range(count):
            call()
        rounds.append((time.thread_time_ns() - start) / count)
    return statistics.median(rounds)


def operator_call(name, numel, mode):
    """Operands as bench/calls/cases.cpp has them, and the mode's context."""
    side = round(math.sqrt(numel))
    shape = (side, side) if name in ("mm", "linear") else (numel,)
    a, b, w = torch.randn(shape), torch.randn(shape), torch.randn(side)
    context = contextlib.ExitStack()
    if mode == "grad":
        a = a.requires_grad_() * 1.0
    else:
        context.enter_context(torch.no_grad())
    if mode == "autocast":
        context.enter_context(torch.autocast("cpu", torch.bfloat16))
    function = CASES[name]
    return context, lambda: function(a, b, w)


def digits_step(batch):
    """A training step of the digits perceptron with plain gradient descent, as most programs write it."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.rand(batch, 64), torch.arange(batch) % 10

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return contextlib.nullcontext(), step


def call_of(key):
    """None for what only Shunt has."""
    parts = key.split("/")
    if len(parts) != 3:
        return None
    name, numel, mode = parts[0], int(parts[1]), parts[2]
    if name == "digits_step":
        return digits_step(numel)
    return operator_call(name, numel, mode) if name in CASES and mode != "grad_autocast" else None


def main(path):
    torch.set_num_threads(1)
    peer = f"PyTorch {torch.__version__.split('+')[0]} from Python"
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    out = [f"# peer\t{peer}"]
    print(f"{'case, ns':<46} {'interpreted':>14} {'compiled':>14} {peer:>28}")
    for line in lines:
        cells = line.split("\t")
        prepared = None if line.startswith("#") else call_of(cells[0])
        if prepared is not None:
            context, call = prepared
            with context:
                cells[3] = f"{nanoseconds(call):.6g}"
            print(f"{cells[0]:<46} {float(cells[1]):>14.1f} {float(cells[2]):>14.1f} {float(cells[3]):>28.1f}", flush=True)
        out.append("\t".join(cells))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
