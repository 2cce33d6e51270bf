"""One process that times programs in one way: `worker.py WAY`, driven by measure.py over its standard input and output.

Lines in: `program NAME` makes the program and warms it up; `block` times calls for some 20 ms; `share` and `recording` measure what their
functions say. Each is answered by a line of JSON. Times are microseconds of CPU time of the whole process, so that what else the machine
does counts as little as may be, and work on other threads does.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import torch

from programs import PROGRAMS

BLOCK_US = 20_000
_MINIMAL_CALLS = 4


def cpu_us() -> float:
    return time.process_time_ns() / 1e3


class Worker:
    def __init__(self, way: str):
        self.way = way
        torch.set_num_threads(1)

    def program(self, name: str) -> dict:
        self.name = name
        self.work = PROGRAMS[name]()
        self.step = self.wrapped(self.work.step)
        self.at = 0
        for _ in range(3 if self.way != "inductor" else 4):
            self.run(1)
        answer = {}
        if self.way in ("plain", "exact", "fast"):
            if not self.step._recordings:
                return {"error": self.step.explain().splitlines()[-1]}
            if self.way == "plain":
                self.step._recordings[0].drop_plan()
            answer["explain"] = self.step.explain()
        self.size_block()
        if self.way in ("plain", "exact", "fast") and self.step._misses:
            return {"error": self.step._misses[-1]}
        return answer

    def size_block(self) -> None:
        """Finds out how many calls a block has, and warms up."""
        for _ in range(5):
            taken = self.run(_MINIMAL_CALLS) / _MINIMAL_CALLS
        self.calls = max(_MINIMAL_CALLS, round(BLOCK_US / taken))
        self.run(self.calls)

    def wrapped(self, step):
        if self.way == "eager":
            return step
        if self.way == "inductor":
            torch._dynamo.reset()
            return torch.compile(step)
        from shunt_torch import capture
        return capture(step, check="never", numerics="fast" if self.way == "fast" else "exact")

    def run(self, n: int) -> float:
        step, calls, at = self.step, self.work.calls, self.at
        start = cpu_us()
        for i in range(at, at + n):
            step(*calls[i & 3])
        taken = cpu_us() - start
        self.at += n
        return taken

    def block(self) -> dict:
        return {"us": self.run(self.calls) / self.calls}

    def share(self) -> dict:
        """How much of a call PyTorch's operators are, with the dispatcher in front of them, and how many microseconds that is."""
        from shunt_torch import _C
        recording = self.step._recordings[0]
        if not recording.has_plan:
            return {}
        inputs = _C.copy_inputs(recording.inputs_of(self.work.calls[0], {}))
        parts, host = [], []
        for _ in range(10):  # in turns: what a microsecond is changes with what else the machine does
            host.append(statistics.median(recording.times(inputs)[1] for _ in range(100)) / 1e3)
            parts.append(host[-1] / self.block()["us"])
        return {"part": statistics.median(parts), "host_us": statistics.median(host)}

    def recording(self) -> dict:
        """The call that records, plans and compares, with the eager call that it is."""
        step = self.wrapped(self.work.step)
        args = self.work.calls[0]
        step(*args), step(*args)
        start = cpu_us()
        step(*args)
        taken = cpu_us() - start
        return {"us": taken, "steps": len(step._recordings[0].describe())} if step._recordings else {"error": step.explain()}

    def answer(self, question: str) -> dict:
        what, *arguments = question.split()
        try:
            return getattr(self, what)(*arguments)
        except Exception as e:  # noqa: BLE001: it is the driver's to report
            return {"error": f"{type(e).__name__}: {e}"}


def main() -> None:
    worker = Worker(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever prints
    for line in sys.stdin:
        answers.write(json.dumps(worker.answer(line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
