"""The scripts of examples/python run, and show what they promise."""

import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "python"

# The options of a short run, and what it prints.
RUNS = {
    "pendulum": (["--rounds", "40", "--steps", "40"],
                 r"eager +(?P<found>length .*loss \S+ -> \S+)  .* s\ncompiled +(?P=found)  .* s\n"),
    "reinforce": (["--games", "100"], r"games   1 to  50: .*\ngames  51 to 100: .*\n"),
    "per_sample_gradients": (["--samples", "16"],
                             r"16 samples: .*largest difference \d\.\de-0[6-9]\nnorms .*\n|16 samples: .*0\.0e\+00\n.*\n"),
    "char_transformer": (["--steps", "60"],
                         r"step    0  loss .*\nstep   50  loss .*\nstep   59  loss .*\na dispatch.*\n"),
    "modes": ([],
              r"(aten\.\S+ +\d+ calls?  + ?.* us\n){4,}caught: aten\.sqrt\.default gave NaN\n"
              r"caught: aten\.sqrt\.default got NaN\nreplaced: True MmBackward0 \{.*\}\n"
              r"replaced by size: 1 of 2, True\n"
              r"mm called from layer, line \d+ `return \(x @ w\)\.relu\(\)`, main, line \d+ `layer\(a, b\)`, "
              r"<module>, line \d+ `main\(\)`\n"),
    "compile_and_modes": ([],
                          r"around: 1 product replaced, 0 graphs run, True\n"
                          r"inside: 0 graphs run, True\n"
                          r"main\.<locals>\.inside:\n(.*\n)* +not recorded: compile_and_modes\.py:\d+ `with OwnProduct\(\):`: "
                          r".* is entered inside .*\n(.*\n)*"
                          r"fullgraph: 1 product replaced, 2 graphs run, True\n"),
    "custom_operator": ([], r"values .*\ngradients .*\ngradcheck True\ncalled by name: True\nfake: \(1000, 1000\)\n"),
}


def test_each_script_is_run():
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts - {"_options"} == set(RUNS)
    table = set(re.findall(r"^\| \[(\w+)\.py\]", (FOLDER / "README.md").read_text(), re.M))
    assert table == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs(name):
    options, shown = RUNS[name]
    run = subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *options], capture_output=True, text=True,
                         timeout=300)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(shown, run.stdout), run.stdout


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "plot.png"
    subprocess.run([sys.executable, str(FOLDER / "pendulum.py"), "--rounds", "5", "--steps", "5", "--plot", str(file)],
                   check=True)
    assert file.stat().st_size > 1000
