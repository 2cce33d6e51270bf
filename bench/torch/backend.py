"""Times torch.compile(backend="shunt") and Inductor on the models of models.py: cold compilation and steps. Called by bench/torch/run.

Each backend compiles each model, for inference and for training, in a process of its own (compiled_worker.py), where nothing but what a
process and a cache make once is there: imported modules, Inductor's precompiled header and its look at the CPU. Compilation is the CPU
time of the process and its compilers for the first calls beyond what as many later ones take. Then the processes' steps take turns, as
those of measure.py. Shunt's run as on a machine without a compiler.

Backend "aot_eager" is what Dynamo and AOTAutograd cost without anything behind them: the least that compilation takes. A step's result and
grads are compared with its own: bits in exact mode, else within a tolerance.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile

import torch

from compared import REFERENCE, judge, table
from measure import options_of, take_turns
from models import HAS_TRANSFORMERS, MODELS, transformers_models

KINDS = ("inference", "training")
CONTEXT = multiprocessing.get_context("forkserver")


def preload(modules: list[str]) -> None:
    """What the server imports. It sees no other path than that of the environment."""
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    CONTEXT.set_forkserver_preload(["compiled_worker", "shunt_torch", *modules])


class Process:
    """Forked from a server that has imported everything."""

    def __init__(self, way: str, cache: str, has_compiler: bool):
        from compiled_worker import serve
        self.way = way
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=serve, args=(way, cache, has_compiler, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, question: str) -> dict:
        try:
            self.pipe.send(question)
            return self.pipe.recv()
        except (EOFError, BrokenPipeError):
            self.process.join()
            return {"error": f"the process ended with status {self.process.exitcode}"}

    def end(self) -> None:
        self.pipe.close()
        self.process.join()


def measure(name: str, kind: str, ways: list[str], once: str, rounds: int) -> dict:
    """A row. `once`: a cache of Inductor's with what is made once in it."""
    out: dict = {"name": name, "kind": kind, "compile_s": {}, "us": {}, "rounds": {}, "errors": {}}
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for way in ways:
            cache = os.path.join(folder, way)
            shutil.copytree(once, cache)
            processes.append(Process(way, cache, has_compiler=way not in ("exact", "fast")))
        running = []
        for p in processes:
            begun = p.ask("begin")
            answer = begun if "error" in begun else p.ask(f"program {name} {kind}")
            if "error" in answer:
                out["errors"][p.way] = answer["error"]
                continue
            out["compile_s"][p.way] = answer["compile_s"]
            running.append(p)
        out["rounds"] = take_turns(running, rounds)
        out["us"] = {way: statistics.median(us) for way, us in out["rounds"].items()}
        for p in running:
            if p.way in ("exact", "fast"):
                out.setdefault("explain", {})[p.way] = p.ask("explain").get("explain")
            # The reference comes before all that are compared with it.
            if p.way != "eager" and "error" in (answer := p.ask(f"{'save' if p.way == REFERENCE else 'compare'} {folder}/results")):
                out["errors"][p.way] = answer["error"]
        for p in processes:
            p.end()
    return out


def prepare(folder: str) -> tuple[str, str]:
    """What Inductor makes once, and what it says where there is no compiler: a cache, and both in words."""
    once, empty = os.path.join(folder, "once"), os.path.join(folder, "empty")
    answers = []
    for cache, has_compiler in ((once, True), (empty, False)):
        process = Process("inductor", cache, has_compiler)
        answers.append(process.ask("begin"))
        process.end()
    made, without = answers
    if "error" in made:
        raise RuntimeError(f"Inductor doesn't work here: {made['error']}")
    if "error" not in without:
        raise RuntimeError("Inductor found a compiler where there is none")
    return once, (f"Inductor's first function, header and look at the CPU: {made['cpu_s']:.1f} s, counted nowhere else. "
                  f"Without a compiler Inductor says: {without['error'].splitlines()[0]}")


def write(out: str, about: str, results: list[dict]) -> None:
    with open(out + ".json", "w") as file:
        json.dump({"about": about, "rows": results, "bars": [text for text, _ in judge(results)]}, file, indent=1)


def main() -> int:
    options = options_of("model", MODELS)
    names = options.names
    not_run = [] if HAS_TRANSFORMERS else [m for m in names if m in transformers_models.MODELS]
    ways = ["eager", REFERENCE, "inductor", "exact", "fast"]
    about = f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread, CPU time, medians"
    with tempfile.TemporaryDirectory() as folder:
        # Inductor's headers lie beside its caches; its compilers are to be this process's children, and those of its own choice.
        os.environ.update(TMPDIR=folder, TORCHINDUCTOR_COMPILE_THREADS="1")
        os.environ.pop("CXX", None)
        once = os.path.join(folder, "once")
        of_transformers = HAS_TRANSFORMERS and any(m in transformers_models.MODELS for m in names)
        preload((["transformers"] if of_transformers else []) + (["torch._inductor.compile_fx"] if not options.quick else []))
        if options.quick or not shutil.which("g++"):
            ways.remove("inductor")
            os.mkdir(once)
        else:
            once, words = prepare(folder)
            about += "\n" + words
        results = []
        for name in names:
            for kind in KINDS:
                if name not in not_run:
                    results.append(measure(name, kind, ways, once, 12 if options.quick else 24))
                    print(f"   {name}, {kind}", file=sys.stderr, flush=True)
                    write(options.out, about, results)  # of a run that is ended early something is left
    print(table(results, ways), f"\n{about}")
    for r in results:
        for way, error in r["errors"].items():
            print(f"{r['name']}, {r['kind']}, {way}: {error}")
    if not_run:
        print(f"not run, since the package transformers isn't installed: {', '.join(not_run)}")
    judged = judge(results)
    print("\n".join(text for text, _ in judged))
    return 3 if options.bars and not all(held for _, held in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
