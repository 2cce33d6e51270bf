"""The scripts of examples/torch run, show what they promise, and say what they lack where PyTorch is missing."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "torch"
RUNS = {
    "capture": r"300 steps: .*\nweights: the same bits\nmake\.<locals>\.step: 1 recordings, \d+ replays, .*\n"
               r"not captured: capture\.py:\d+ .*item\(\).*\ntorch\.compile: the same bits\n",
}


def run(script, **environment):
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def test_each_script_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs(name):
    ran = run(FOLDER / f"{name}.py")
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(RUNS[name], ran.stdout), ran.stdout


@pytest.mark.parametrize("name", RUNS)
def test_a_script_is_skipped_without_torch(name, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch')")
    ran = run(FOLDER / f"{name}.py", PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert (ran.returncode, ran.stdout) == (77, "skipped: there is no torch\n"), ran.stderr
