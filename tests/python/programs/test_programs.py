"""Programs that others wrote for PyTorch, under PyTorch and under `python -m shunt`: they learn as far.

    tests/run --long python --programs FOLDER

FOLDER holds checkouts of pytorch/examples, karpathy/minGPT, albanD/subclass_zoo and tinygrad/tinygrad, under the
names behind the slash. Data is drawn (text() here, stand_ins/torchvision, stand_ins/gymnasium), and random numbers are
NumPy's in both packages (stand_ins/same_draws.py), so that what programs print can be compared number by number.
"""

import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
FOLDER = os.environ.get("SHUNT_PROGRAMS")
PROGRAMS = json.loads((HERE / "programs.json").read_text())

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="not run: no folder was given (tests/run --long python --programs FOLDER)")

#: Of the same steps' losses, relatively.
TOLERANCE = 0.02


def checkout(file):
    """A file of FOLDER's; the test is skipped where its repository isn't there."""
    path = pathlib.Path(FOLDER) / file
    if not path.parts or not (pathlib.Path(FOLDER) / file.split("/")[0]).is_dir():
        pytest.skip(f"not run: {FOLDER} has no {file.split('/')[0]}")
    return str(path)


def run(package, module, file, arguments, cwd, path="", limit=1800):
    """What a program prints."""
    if package == "torch" and importlib.util.find_spec("torch") is None:
        pytest.skip(f"not run: {sys.executable} has no PyTorch to compare with")
    folders = [str(HERE / "stand_ins"), path, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *(["-m", "shunt"] if package == "shunt" else []), "-m", module, file, *arguments]
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=limit)
    assert ran.returncode == 0, f"{package}: {' '.join(command)}\n{ran.stdout[-3000:]}\n{ran.stderr[-6000:]}"
    return ran.stdout


def text(folder):
    """Three files of sentences in which a word has four that may follow it."""
    numbers = random.Random(3)
    words = [f"w{i}" for i in range(60)]
    followers = {word: numbers.sample(words, 4) for word in words}
    folder.mkdir()
    for name, count in ("train", 6000), ("valid", 1000), ("test", 1000):
        sentence = [words[0]]
        for _ in range(count):
            sentence.append(numbers.choice(followers[sentence[-1]]))
        lines = [" ".join(sentence[i:i + 15]) for i in range(0, count, 15)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


def losses(output):
    """The numbers that follow the word loss, in order."""
    return [float(number) for number in re.findall(r"loss\D{0,12}?(-?\d+\.\d+)", output, re.I)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_learns_as_under_pytorch(name, tmp_path):
    program = PROGRAMS[name]
    found = {}
    for package in ("torch", "shunt"):
        cwd = tmp_path / package
        (cwd / "results").mkdir(parents=True)
        text(cwd / "data")
        path = checkout(program["path"]) if "path" in program else ""
        if "before" in program:
            run(package, "same_draws", checkout(program["before"]), [], cwd)
        output = run(package, "same_draws", checkout(program["file"]), program.get("arguments", "").split(), cwd, path)
        found[package] = losses(output)
    assert found["torch"], "the program prints no loss"
    assert len(found["shunt"]) == len(found["torch"])
    for step, (ours, theirs) in enumerate(zip(found["shunt"], found["torch"])):
        assert abs(ours - theirs) <= TOLERANCE * abs(theirs), f"loss {step}: {ours} for {theirs}"
    print(f"{name}: {len(found['torch'])} losses, the last {found['shunt'][-1]} for {found['torch'][-1]}")


@pytest.mark.parametrize("name", ["reinforce", "actor_critic"])
def test_a_policy_is_learnt_in_as_many_episodes(name, tmp_path):
    file = checkout(f"examples/reinforcement_learning/{name}.py")
    episodes = {}
    for package in ("torch", "shunt"):
        counts = []
        for seed in range(5):
            output = run(package, "same_draws", file, ["--seed", str(seed)], tmp_path)
            assert "Solved!" in output
            counts.append(int(re.findall(r"Episode (\d+)", output)[-1]))
        episodes[package] = sorted(counts)
    print(f"{name}: solved after {episodes['shunt']} episodes, under PyTorch after {episodes['torch']}")
    # Rounding parts the two after some hundred steps; what is left is the distribution over the seeds.
    low, high = episodes["torch"][0], episodes["torch"][-1]
    assert 0.5 * low <= statistics.median(episodes["shunt"]) <= 1.5 * high


#: The simple files of subclass_zoo: those that run under PyTorch 2.13 without CUDA and need neither torch.fx, nor
#: torch._prims_common, nor PyTorch's dispatcher in Python, nor sparse tensors, nor weak references to storages.
ZOO = ["autograd_monkeypatch", "base_tensor", "bug_zoo", "custom_parameter", "dynamic_shapes", "dynamic_strides",
       "empty_tensor",
       "flat_view_tensor", "functorch_test", "negative_tensor",
       "progressive_lowering_tensor", "python_meta_tensor", "quantized_tensor", "simple_functorch",
       "torchdynamo_dynamic_inference", "tracing_guards", "trivial_tensors", "utils"]


@pytest.mark.parametrize("name", ZOO)
def test_a_file_of_subclass_zoo(name, tmp_path):
    run("shunt", "with_test_cases", checkout(f"subclass_zoo/{name}.py"), [], tmp_path, limit=300)


def test_tinygrads_operators(tmp_path):
    """tinygrad's test_ops.py, its torch side: PyTorch's results, then Shunt's (stand_ins/torch_side.py)."""
    folder = checkout("tinygrad")
    known = json.loads((HERE / "tinygrad_differences.json").read_text())
    ran = {}
    for package in ("torch", "shunt"):
        folders = [folder, str(HERE / "stand_ins"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)),
                       "PYTHONDONTWRITEBYTECODE": "1", "RECORDED": str(tmp_path / "results"),
                       "CACHEDB": str(tmp_path / "cache.db"),
                       "CC": next(filter(shutil.which, ("clang", "clang-19")), "clang")}
        command = [sys.executable, *(["-m", "shunt"] if package == "shunt" else []), "-m", "pytest", "-p", "torch_side",
                   "-p", "no:cacheprovider", "-q", "--tb=line", "-W", "ignore", "test/backend/test_ops.py"]
        ran[package] = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout
    last = ran["shunt"].strip().rpartition("\n")[2]
    print(f"tinygrad's test_ops.py: {last}; under PyTorch: {ran['torch'].strip().rpartition(chr(10))[2]}")
    failed = set(re.findall(r"^FAILED \S+::(\w+)", ran["shunt"], re.M))
    assert int(re.search(r"(\d+) passed", last)[1]) > 350, ran["shunt"][-6000:]
    assert failed == set(known), f"fail now: {sorted(failed - set(known))}; pass now: {sorted(set(known) - failed)}"
