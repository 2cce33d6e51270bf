"""SHUNT_PROFILE, which `shunt profile python3 program.py` sets: the operators that a program of Python calls."""

import json
import os
import subprocess
import sys

PROGRAM = """
import shunt

x = shunt.ones(8, requires_grad=True)
for _ in range(300):
    y = x * x
compiled = shunt.compile(lambda t: shunt.sigmoid(t))
for _ in range(5):
    compiled(x)
for _ in range(4):
    shunt.ops.aten.cos.default(x.detach())
y.sum().backward()
"""


def run(value):
    environment = {k: v for k, v in os.environ.items() if k not in ("SHUNT_TRACE", "SHUNT_JIT")}
    return subprocess.run([sys.executable, "-c", PROGRAM], env={**environment, "SHUNT_PROFILE": str(value)},
                          capture_output=True, text=True, check=True).stderr


def calls_in(table):
    head, *rows = table[table.index("operator "):].splitlines()
    assert head.split() == ["operator", "calls", "total", "ms", "self", "ms", "share", "mean", "us"]
    return {row.split()[0]: int(row.split()[1]) for row in rows}


def test_a_table_of_operators():
    table = run(1)
    assert "all of them interpreted" in table.splitlines()[0]
    calls = calls_in(table)
    assert calls["aten::sigmoid"] == 5 and calls["aten::cos"] == 4 and calls["aten::sum"] == 1
    assert calls["aten::mul.Tensor"] >= 300  # and those of the backward pass


def test_a_trace_of_calls(tmp_path):
    table = run(tmp_path / "calls-%p.json")
    (file,) = tmp_path.iterdir()
    events = [e for e in json.loads(file.read_text())["traceEvents"] if e["ph"] == "X"]
    counts = {}
    for event in events:
        counts[event["name"]] = counts.get(event["name"], 0) + 1
        assert event["dur"] >= 0 and event["ts"] >= 0 and event["args"]["keys"]
    assert counts == calls_in(table)


def test_nothing_without_the_variable():
    assert run("0") == ""
