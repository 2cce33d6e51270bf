"""A process that compiles one model of models.py with one backend, times its steps, and compares what they compute. Made by backend.py."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
import warnings

import torch
import torch._dynamo.backends.common  # noqa: F401: what is imported before processes are forked isn't counted as compilation

from models import make_work
from worker import Worker, cpu_us

COMPILERS = ("g++", "gcc", "c++", "cc", "clang++", "clang")
FIRST_CALLS = 12  # Shunt compares its plan with the graph itself for eight of them
_TOLERANCE, _SMALL = 1e-4, 1e-2


def cpu_s() -> float:
    """Of this process and of those that it has waited for, compilers."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def hide_compilers() -> None:
    """Makes this process one of a machine without a C++ compiler."""
    os.environ.pop("CXX", None)
    os.environ.pop("CC", None)
    os.environ["PATH"] = tempfile.mkdtemp()
    assert not any(map(shutil.which, COMPILERS))


def serve(way: str, cache: str, has_compiler: bool, pipe) -> None:
    """Answers questions until the other end is closed."""
    warnings.simplefilter("ignore")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    if not has_compiler:
        hide_compilers()
    worker = CompiledWorker(way)
    try:
        while True:
            pipe.send(worker.answer(pipe.recv()))
    except (EOFError, BrokenPipeError):  # the driver has ended
        pass


class CompiledWorker(Worker):
    def compiled(self, function):
        if self.way == "eager":
            return function
        if self.way in ("exact", "fast"):
            import shunt_torch  # noqa: F401: registers the backend
            return torch.compile(function, backend="shunt", options={"numerics": self.way})
        return torch.compile(function, backend=self.way)

    def begin(self) -> dict:
        """Compiles a function of one operator: what is made once in a process or a cache."""
        before = cpu_s()
        self.compiled(lambda x: x + 1)(torch.zeros(16))
        return {"cpu_s": cpu_s() - before}

    def program(self, name: str, kind: str) -> dict:
        """Makes the model, and measures its first calls beyond what later calls take."""
        self.name, self.kind, self.at = name, kind, 0
        self.work = make_work(name, kind, self.compiled)
        self.step = self.work.step
        before = cpu_s()
        self.run(FIRST_CALLS)
        wait_for_other_threads()
        first = cpu_s() - before
        self.size_block()
        usual = self.block()["us"] / 1e6
        return {"compile_s": first - FIRST_CALLS * usual}

    def save(self, path: str) -> dict:
        """Writes what a step computes."""
        torch.save(self.result_of_step(), path)
        return {}

    def compare(self, path: str) -> dict:
        """Compares what a step computes with what was written there: nothing, or what is wrong."""
        (ours, draws), (theirs, _) = self.result_of_step(), torch.load(path)
        if self.way == "inductor" and draws:
            return {}  # its generator is another
        wrong = differing(ours, theirs, 0.0 if self.way == "exact" else _TOLERANCE)
        return {"error": f"wrong results: {', '.join(wrong[:3])}"} if wrong else {}

    def result_of_step(self) -> tuple[dict, bool]:
        """The result and the grads, and whether random numbers were drawn."""
        torch.manual_seed(7)
        before = torch.get_rng_state()
        out = {"result": self.step(*self.work.calls[0]).clone()}
        out.update({f"{name}.grad": p.grad.clone() for name, p in self.work.state[0].named_parameters() if p.grad is not None})
        return out, not torch.equal(before, torch.get_rng_state())

    def explain(self) -> dict:
        import shunt_torch
        return {"explain": shunt_torch.explain()}


def wait_for_other_threads() -> None:
    """Until a compiler in the background has no more to do."""
    for _ in range(100):
        before = cpu_us()
        time.sleep(0.05)
        if cpu_us() - before < 2_000:
            return


def differing(ours: dict, theirs: dict, tolerance: float) -> list[str]:
    """What differs: in a bit, or by more than `tolerance` times its largest element. Grads that are small beside others are their
    rounding errors (as those of biases before a norm), so they have the scale of the others."""
    if ours.keys() != theirs.keys():
        return sorted(ours.keys() ^ theirs.keys())
    if tolerance == 0:
        from shunt_torch import _C
        return [name for name in ours if not _C.same_bits(ours[name], theirs[name])]
    largest = max(float(t.abs().max()) for t in theirs.values())
    wrong = []
    for name, expected in theirs.items():
        error, scale = float((ours[name] - expected).abs().max()), max(float(expected.abs().max()), _SMALL * largest)
        if not error <= tolerance * scale:  # nor where it is NaN
            wrong.append(f"{name} by {error:.2g} of {scale:.2g}")
    return wrong
