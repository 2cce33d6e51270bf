"""torch.compile(backend="shunt") keeps AOTAutograd's graphs on disk: a second process has the same bits without tracing them again."""

import json
import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys, time
import torch, shunt_torch
from torch._dynamo.utils import counters
from torch._functorch import aot_autograd
from shunt_torch.graph import graphs

captures = 0
real = aot_autograd.aot_stage1_graph_capture
def counted(*args, **kwargs):
    global captures
    captures += 1
    return real(*args, **kwargs)
aot_autograd.aot_stage1_graph_capture = counted

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(4, 2))

def with_constant(x):
    return x * torch.tensor([1.0, 2.0, 3.0]) + 1

def writes(x):
    x.add_(1)
    return x * 2, x[0]

def bits(t):
    return t.detach().contiguous().view(-1).view(torch.uint8).tolist()

def training():
    f = compiled(model)
    for i in range(14):
        model.zero_grad()
        y = f(torch.full((5, 3), float(i)))
        y.sum().backward()
        yield [y] + [p.grad for p in model.parameters()]

def sizes():
    f = compiled(lambda x, w: torch.tanh(x @ w) * x.shape[0], dynamic=True)
    for n in (3, 4, 3, 4, 5, 3, 3, 3, 3, 3, 3, 3, 3, 3):
        w = torch.ones(2, 2, requires_grad=True)
        y = f(torch.full((n, 2), 0.3), w)
        y.sum().backward()
        yield [y, w.grad]

def inference(function):
    f = compiled(function)
    for i in range(14):
        y = f(torch.full((3,), float(i)))
        yield list(y) if isinstance(y, tuple) else [y]

backend, options, is_short = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "short"
def compiled(f, **more):
    return torch.compile(f, backend=backend, **options, **more)
calls = [inference(with_constant)] + ([] if is_short else [training(), sizes(), inference(writes)])
out = [[[bits(t) for t in call] for call in calls_of_one] for calls_of_one in calls]
cache = {k: v for k, v in counters["aot_autograd"].items() if k.startswith("autograd_cache")}
print(json.dumps({"out": out, "cache": cache, "captures": captures, "explain": shunt_torch.explain(),
                  "ours": [g.runtime for g in graphs()]}))
"""


def run(folder, backend="shunt", options=None, environment=None, length="short"):
    everything = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder), **(environment or {})}
    done = subprocess.run([sys.executable, "-c", PROGRAM, backend, json.dumps(options or {}), length], capture_output=True, text=True,
                          env=everything)
    assert done.returncode == 0, done.stderr
    assert "unable to serialize" not in done.stderr
    return json.loads(done.stdout)


def test_the_second_process_traces_nothing(tmp_path):
    first, second = run(tmp_path, length="long"), run(tmp_path, length="long")
    assert first["cache"] == {"autograd_cache_miss": 4, "autograd_cache_saved": 4} and first["captures"] == 4
    assert second["cache"] == {"autograd_cache_hit": 4} and second["captures"] == 0
    assert second["out"] == first["out"] == run(tmp_path, backend="aot_eager", length="long")["out"]
    assert second["explain"].count(", from the cache on disk") == 6 and ", from the cache on disk" not in first["explain"]
    assert second["ours"] == first["ours"] == [""] * 5 + ["inputs that are written"]
    for line in (": 0 recordings", "not recorded"):
        assert line not in second["explain"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, run(folder)


def test_what_other_options_have_kept_is_not_used(filled):
    fast = run(filled[0], options={"options": {"numerics": "fast"}})
    assert fast["cache"] == {"autograd_cache_miss": 1, "autograd_cache_saved": 1}


def test_the_cache_can_be_switched_off(filled):
    assert run(filled[0], environment={"TORCHINDUCTOR_AUTOGRAD_CACHE": "0"})["captures"] == 1


def test_a_broken_entry_is_a_miss(tmp_path, filled):
    shutil.copytree(filled[0] / "aotautograd", tmp_path / "aotautograd")
    for entry in (tmp_path / "aotautograd").rglob("*"):
        if entry.is_file():
            entry.write_bytes(entry.read_bytes()[:100])
    again = run(tmp_path)
    assert again["out"] == filled[1]["out"] and again["captures"] == 1 and "autograd_cache_hit" not in again["cache"]
