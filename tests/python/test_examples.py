"""The scripts of examples/python run, and show what they promise."""

import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "python"
AS_TORCH = {"torch_program"}  # run by `python -m shunt`

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
    "arrays": ([], r"from_numpy shares memory: True\nDLPack shares memory, both ways: True\nthe array API: .*\n"
                   r"NumPy's functions take tensors: .*\n"),
    "files": ([],
              r"(weights\.\w+: the same tensors\n){3}resumed after epoch 3 with the same bits: True\n"
              r"truncated: .*'short\.safetensors'.*\nwith a command in it: UnpicklingError: .*\n"),
    "gradients": ([], r"(.+\n){9}functional_call in vmap: ten networks at once\n"),
    "sequences": ([], r"64 sequences of 1 to 4 bits: \d+% right\nthe weight is still orthogonal\nKL .*: 0\.5\n"),
    "registrations": ([],
                      r"shape without data: \(2, 3\)\nopcheck: SUCCESS\nrelu .*\nthe Autograd kernel saw 1 of 2 calls\n"
                      r"aten\.add\.Tensor is .*\n-> CPU .*\nCPU\nMeta\n"
                      r"vmap: 5 calls without a rule, 1 with one; the same: True\n"),
    "subclasses": ([],
                   r"a sum of metres is of class Metres\nrefused: .*\n8-bit weights: 1024 bytes instead of 4096, .*\n"
                   r"a fake product: \(100000, 100000\)\nfunctionalized: 6\.0 \[2\.0, 2\.0, 2\.0\]\n"
                   r"in autocast: shunt\.bfloat16\n"),
    "torch_program": ([], r"run by shunt\nthe loss falls\n"),
    "train_and_save": ([],
                       r"accuracy [01]\.\d\d, 4\d\d of 480 steps ran a graph\nmain\.<locals>\.step:\n(.*\n)+"
                       r"loaded: the same predictions\nthe profile has aten::addmm, aten::argmax, aten::tanh\n"),
}


def test_each_script_is_run():
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts - {"_options"} == set(RUNS)
    table = set(re.findall(r"^\| \[(\w+)\.py\]", (FOLDER / "README.md").read_text(), re.M))
    assert table == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs(name):
    options, shown = RUNS[name]
    python = [sys.executable, "-m", "shunt"] if name in AS_TORCH else [sys.executable]
    run = subprocess.run([*python, str(FOLDER / f"{name}.py"), *options], capture_output=True, text=True, timeout=300)
    if run.returncode == 77:
        pytest.skip(run.stdout)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(shown, run.stdout), run.stdout


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "plot.png"
    subprocess.run([sys.executable, str(FOLDER / "pendulum.py"), "--rounds", "5", "--steps", "5", "--plot", str(file)],
                   check=True)
    assert file.stat().st_size > 1000
