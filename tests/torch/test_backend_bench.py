"""bench/torch/run --backend on one small model, and what it makes of figures and of wrong results."""

import os
import subprocess
import sys

import pytest
import torch

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "torch")
sys.path.insert(0, BENCH)
from backend import measure, preload  # noqa: E402
from compared import judge, table  # noqa: E402
from compiled_worker import differing, hide_compilers  # noqa: E402
from models import MODELS, make_work  # noqa: E402

WAYS = ["eager", "inductor", "exact", "fast"]


def test_one_model_is_measured_without_a_compiler(tmp_path):
    preload([])
    result = measure("MLP", "training", ["eager", "aot_eager", "exact"], str(tmp_path), rounds=2)
    assert result["errors"] == {} and result["us"].keys() == {"eager", "aot_eager", "exact"}
    assert 0 < result["compile_s"]["exact"] < 60
    assert "0 recordings" not in result["explain"]["exact"].split("forward of")[1]
    assert judge([result])[-1] == ("models that run without a compiler, their results right: all, ok", True)


def test_compilers_are_hidden(monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("CXX", "g++")
    hide_compilers()
    with pytest.raises(FileNotFoundError):
        subprocess.run(["g++", "--version"])
    assert "CXX" not in os.environ


def row(kind, exact_us, fast_us, errors):
    us = {"eager": [2000.0], "inductor": [1000.0], "exact": [exact_us], "fast": [fast_us]}
    return {"name": "a model", "kind": kind, "rounds": us, "us": {way: times[0] for way, times in us.items()}, "errors": errors,
            "compile_s": {"eager": 0.0, "inductor": 9.0, "exact": 1.0, "fast": 2.0}}


def test_bars_are_held_and_missed():
    held = judge([row("inference", 1000.0, 800.0, {}), row("training", 1000.0, 800.0, {})])
    assert len(held) == 9 and all(ok for _, ok in held), held
    missed = judge([row("inference", 4000.0, 800.0, {}), row("training", 1000.0, 800.0, {"fast": "wrong results"})])
    assert [text.split(":")[0] for text, ok in missed if not ok] == [
        "steps of inference, inductor / exact, geometric mean", "where eager takes 1 ms or more, eager / exact, each",
        "models that run without a compiler, their results right"]
    assert "a model training fast" in missed[-1][0]
    assert not any("fast" in text and "training" in text for text, _ in missed[:-1])  # a wrong result has no time
    lines = table([row("inference", 1000.0, 800.0, {})], WAYS).splitlines()
    assert lines[1].split() == ["a", "model,", "inference", "9.00", "1.00", "2.00", "2000", "us", "1000", "us", "1000", "us", "800", "us",
                                "2.00", "2.00", "2.50", "1.00", "1.25"]


def test_results_are_compared():
    a, b = torch.ones(3), torch.ones(3)
    b[1] += 1e-6
    assert differing({"x": a}, {"x": a.clone()}, 0.0) == [] and differing({"x": a}, {"x": b}, 0.0) == ["x"]
    assert differing({"x": a}, {"x": b}, 1e-4) == [] and differing({"x": a}, {"x": b + 1}, 1e-4) != []
    assert differing({"x": a * torch.nan}, {"x": a}, 1e-4) != [] and differing({"x": a}, {}, 1e-4) == ["x"]


@pytest.mark.parametrize("name", [name for name in MODELS if name in ("UNet", "VAE", "encoder-layer", "n-body", "GP", "histogram")])
def test_models_compute(name):
    for kind in ("inference", "training"):
        work = make_work(name, kind, lambda model: model)
        assert torch.isfinite(work.step(*work.calls[0])).all()
        assert all(p.grad is not None for p in work.state[0].parameters()) == (kind == "training")
