"""The second table: what backends need for the models of models.py, and the bars that hold of all of them. Rows are made by backend.py."""

from __future__ import annotations

import statistics
from typing import Callable, Optional

from measure import TITLES, aligned, duration

REFERENCE = "aot_eager"
NAMES = {REFERENCE: REFERENCE, **TITLES}


def steps(result: dict, way: str, base: str) -> Optional[float]:
    """base / way, the median over rounds."""
    rounds = result["rounds"]
    if way not in rounds or base not in rounds or way in result["errors"]:
        return None
    return statistics.median(b / w for b, w in zip(rounds[base], rounds[way]))


def compilation(result: dict, way: str) -> Optional[float]:
    seconds = result["compile_s"]
    return seconds["inductor"] / seconds[way] if way in seconds and "inductor" in seconds and way not in result["errors"] else None


def mean(values: list) -> Optional[float]:
    known = [v for v in values if v is not None]
    return statistics.geometric_mean(known) if known else None


def least(values: list) -> Optional[float]:
    return min((v for v in values if v is not None), default=None)


def of_kind(kind: str, base: str, way: str) -> Callable:
    return lambda results: [steps(r, way, base) for r in results if r["kind"] == kind]


def of_slow(way: str) -> Callable:
    return lambda results: [steps(r, way, "eager") for r in results if r["us"].get("eager", 0) >= 1000]


# What is held: of which figures the mean or the least, and what it has to be.
BARS: list[tuple[str, Callable, Callable, float]] = [
    ("cold compilation, inductor / exact, geometric mean", lambda results: [compilation(r, "exact") for r in results], mean, 8),
    ("cold compilation, inductor / exact, each", lambda results: [compilation(r, "exact") for r in results], least, 3),
    ("steps of inference, inductor / fast, geometric mean", of_kind("inference", "inductor", "fast"), mean, 1.0),
    ("steps of training, inductor / fast, geometric mean", of_kind("training", "inductor", "fast"), mean, 1.0),
    ("steps of inference, inductor / exact, geometric mean", of_kind("inference", "inductor", "exact"), mean, 0.7),
    ("steps of training, inductor / exact, geometric mean", of_kind("training", "inductor", "exact"), mean, 0.9),
    ("where eager takes 1 ms or more, eager / exact, each", of_slow("exact"), least, 0.97),
    ("where eager takes 1 ms or more, eager / fast, each", of_slow("fast"), least, 0.97),
]


def judge(results: list[dict]) -> list[tuple[str, bool]]:
    """Each bar as text, and whether it is held. A model that doesn't run, or computes something else, misses one of its own."""
    out = []
    for what, figures, summary, bar in BARS:
        if (value := summary(figures(results))) is not None:
            out.append((f"{what}: {value:.2f}, bar {bar:g} " + ("ok" if value >= bar else "MISSED"), value >= bar))
    wrong = [f"{r['name']} {r['kind']} {way}" for r in results for way in ("exact", "fast") if way in r["errors"]]
    found = f"all but {', '.join(wrong)}: MISSED" if wrong else "all, ok"
    out.append((f"models that run without a compiler, their results right: {found}", not wrong))
    return out


def table(results: list[dict], ways: list[str]) -> str:
    """Seconds of compilation, times of steps, and ratios of them."""
    others = [w for w in ways if w != "eager"]
    ratios = [("eager", w) for w in others if w != REFERENCE] + [("inductor", w) for w in ("exact", "fast") if "inductor" in ways]
    head = ["", *(f"{NAMES[w]}, s" for w in others), "eager", *(NAMES[w] for w in others),
            *(f"{base}/{NAMES[w]}" for base, w in ratios)]
    lines = [head]
    for r in results:
        def number(value: Optional[float]) -> str:
            return "" if value is None else f"{value:.2f}"
        lines.append([f"{r['name']}, {r['kind']}", *(number(r["compile_s"].get(w)) for w in others),
                      *(duration(r["us"][w]) if w in r["us"] else "" for w in ["eager", *others]),
                      *(number(steps(r, w, base)) for base, w in ratios)])
    return aligned(lines)
