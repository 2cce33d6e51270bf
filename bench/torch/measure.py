"""Times the rows of rows.py, prints the table, and writes it as JSON and SVG. Called by bench/torch/run.

Each way to run a program has a process of its own (worker.py), and they take turns, some 20 ms each, in changing order. A time is the
median over its turns, a ratio the median over rounds of the ratio in one round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from typing import Iterable, Optional

import torch

from picture import draw
from rows import ROWS, Row

TITLES = {"plain": "boxed calls", "exact": "exact", "fast": "fast", "inductor": "inductor"}


class Process:
    def __init__(self, way: str):
        self.way = way
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen([sys.executable, os.path.join(here, "worker.py"), way], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, question: str) -> dict:
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the process ended with status {self.process.wait()}"}
        return json.loads(line)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def take_turns(processes: list, rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call by way, one figure a round."""
    times: dict[str, list[float]] = {p.way: [] for p in processes}
    for i in range(rounds):
        for p in processes[i % len(processes):] + processes[:i % len(processes)]:
            times[p.way].append(p.ask("block")["us"])
    return times


def measure(row: Row, processes: list[Process], rounds: int) -> dict:
    out: dict = {"name": row.name, "title": row.title, "us": {}, "ratio": {}, "errors": {}}
    running = []
    for p in processes:
        answer = p.ask(f"program {row.name}")
        if "error" in answer:
            out["errors"][p.way] = answer["error"]
        else:
            running.append(p)
        if "explain" in answer:
            out.setdefault("explain", {})[p.way] = answer["explain"]
    if row.most_recording_us is not None:
        return recorded(row, running, rounds, out)
    times = take_turns(running, rounds)
    for way, us in times.items():
        out["us"][way] = statistics.median(us)
        if way != "eager" and "eager" in times:
            out["ratio"][way] = statistics.median(e / u for e, u in zip(times["eager"], us))
    for p in running:
        if p.way != "exact" or not (share := p.ask("share")) or "error" in share:
            continue
        out["pytorch_percent"] = min(100.0, 100 * share["part"])
        out["shunt_percent"] = 100 - out["pytorch_percent"]
        if share["part"] > 0.01:
            out["most"] = out["ratio"]["exact"] / share["part"]
    return out


def recorded(row: Row, running: list[Process], rounds: int, out: dict) -> dict:
    for p in running:
        if p.way not in ("exact", "fast"):
            continue
        answers = [p.ask("recording") for _ in range(max(5, rounds // 4))]
        if errors := [a["error"] for a in answers if "error" in a]:
            out["errors"][p.way] = errors[0]
        else:
            out["us"][p.way] = statistics.median(a["us"] for a in answers)
            out["steps"] = answers[0]["steps"]
    return out


def verdict(row: Row, result: dict, way: str) -> Optional[tuple[str, bool]]:
    """A bar, as text, and whether it is held; None where there is none, or nothing to hold it against yet."""
    most = row.most_us or row.most_recording_us
    us, ratio, least = result["us"].get(way), result["ratio"].get(way), getattr(row, way)
    if way in result["errors"]:
        return None if "numerics" in result["errors"][way] else ("NOT MEASURED", False)
    if most and way == "exact":
        return f"at most {duration(most)}: " + ("ok" if us <= most else "MISSED"), us <= most
    if least is None or ratio is None:
        return None
    return f"{least:g} " + ("ok" if ratio >= least else "MISSED"), ratio >= least


def duration(us: float) -> str:
    return f"{us / 1000:.1f} ms" if us >= 10_000 else f"{us:.0f} us" if us >= 100 else f"{us:.1f} us"


def table(rows: list[Row], results: list[dict], ways: list[str]) -> str:
    others = [w for w in ways if w != "eager"]
    head = ["", "eager", *(TITLES[w] for w in others)]
    for way in others:
        head += [f"eager/{TITLES[way]}", *(["bar"] if way in ("exact", "fast") else [])]
    head += ["PyTorch's %", "Shunt's %", "eager/PyTorch's"]
    lines = [head]
    for row, result in zip(rows, results):
        def number(value: Optional[float], form: str = ".2f") -> str:
            return "" if value is None else format(value, form)
        line = [row.title, *(duration(result["us"][w]) if w in result["us"] else "" for w in ["eager", *others])]
        for way in others:
            # A call that computes nothing, and one that records, have no counterpart.
            line.append("" if row.exact is None else number(result["ratio"].get(way)))
            if way in ("exact", "fast"):
                judged = verdict(row, result, way)
                line.append(judged[0] if judged else "not built yet" if way in result["errors"] else "")
        line += [number(result.get(k), ".0f") for k in ("pytorch_percent", "shunt_percent")] + [number(result.get("most"), ".1f")]
        lines.append(line)
    return aligned(lines)


def aligned(lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))) for line in lines)


def options_of(what: str, known: Iterable[str]) -> argparse.Namespace:
    """Those of run: `names` has the rows or models of `known` that were asked for, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--out", required=True)
    parser.add_argument("names", nargs="*", metavar=what)
    options, known = parser.parse_args(), list(known)
    if unknown := set(options.names) - set(known):
        parser.error(f"there is no {what} {', '.join(sorted(unknown))}; there are: {' '.join(known)}")
    options.names = [name for name in known if not options.names or name in options.names]
    return options


def main() -> int:
    options = options_of("row", (r.name for r in ROWS))
    rows = [r for r in ROWS if r.name in options.names]
    ways = ["eager", "plain", "exact", "fast"]
    if not options.quick and shutil.which("g++"):
        ways.append("inductor")
    processes = [Process(way) for way in ways]
    results = []
    for row in rows:
        # Inductor's compilation of a program that is nobody's takes minutes.
        asked = [p for p in processes if p.way != "inductor" or row.exact is not None]
        results.append(measure(row, asked, 12 if options.quick else 60))
        print(f"   {row.title}", file=sys.stderr, flush=True)
    for p in processes:
        p.end()
    about = f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread, CPU time, medians"
    print(table(rows, results, ways), f"\n{about}. PyTorch's %: its operators in a captured call, dispatcher included; Shunt's: the rest.\n"
          "eager/PyTorch's: what a call would reach that had nothing else in it.")
    for result in results:
        for way, error in result["errors"].items():
            if way != "fast" or "numerics" not in error:
                print(f"{result['name']}, {way}: {error}")
    judged = [v for row, result in zip(rows, results) for way in ("exact", "fast") if (v := verdict(row, result, way))]
    with open(options.out + ".json", "w") as file:
        json.dump({"about": about, "rows": results}, file, indent=1)
    with open(options.out + ".svg", "w") as file:
        file.write(draw(about, [r for r in results if "eager" in r["us"] and r["name"] != "nothing"]))
    missed = sum(not held for _, held in judged)
    print(f"{len(judged) - missed} of {len(judged)} bars held")
    return 3 if options.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
