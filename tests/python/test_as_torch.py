"""Programs written for PyTorch: python -m shunt, shunt.as_torch."""

import os
import subprocess
import sys
import textwrap

import pytest

import shunt


def run(tmp_path, program, *arguments, by=("-m", "shunt")):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    return subprocess.run([sys.executable, *by, str(file), *arguments], capture_output=True, text=True)


def test_a_program_runs(tmp_path):
    result = run(tmp_path, """
        import sys
        import torch
        from torch import Tensor
        import torch.autograd as autograd

        assert torch.__name__ == "torch" and torch.__version__.startswith("2.")
        x = torch.ones(3, requires_grad=True)
        assert isinstance(x, Tensor) and isinstance(x, torch.Tensor)
        with torch.no_grad():
            assert not (x * 2).requires_grad
        print(autograd.grad((x * 2).sum(), x)[0].tolist(), sys.argv[1:], __name__)
        """, "--flag")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[2.0, 2.0, 2.0] ['--flag'] __main__\n"
    assert result.stderr == ""


def test_what_is_missing_is_listed(tmp_path):
    result = run(tmp_path, """
        import torch
        try:
            torch.no_such_function
        except AttributeError as error:
            print(error)
        try:
            import torch.no_such_module.inner
        except ModuleNotFoundError as error:
            print(error)
        print(hasattr(torch, "another"))
        """)
    assert result.returncode == 0, result.stderr
    assert "has no attribute 'no_such_function'" in result.stdout and "no_such_module" in result.stdout
    assert result.stderr == ("shunt: the program asked for these, which Shunt doesn't have: torch.no_such_function, "
                             "torch.no_such_module, torch.another\n")


def test_errors_of_the_program_come_out(tmp_path):
    result = run(tmp_path, "import torch\nraise SystemExit(7)")
    assert result.returncode == 7
    result = run(tmp_path, "import torch\ntorch.mm(1, 2)")
    assert result.returncode == 1 and "TypeError: mm()" in result.stderr
    result = run(tmp_path, "import torch\nimport torch.no_such_module")
    assert result.returncode == 1
    assert result.stderr.endswith("doesn't have: torch.no_such_module\n"), result.stderr  # below the traceback


@pytest.mark.parametrize("arguments, code", [([], 2), (["--help"], 0), (["no/such/file.py"], 2), (["-m"], 2),
                                             (["-x"], 2)])
def test_usage(arguments, code):
    result = subprocess.run([sys.executable, "-m", "shunt", *arguments], capture_output=True, text=True)
    assert result.returncode == code
    assert "usage: python -m shunt" in result.stdout + result.stderr or "no such file" in result.stderr


def test_modules_that_are_missing_are_explained():
    for name, hint in (("torch.nn.functionl", "; did you mean 'functional'?"),
                       ("torch.optm", "; did you mean 'optim'?"),
                       ("torch.fft", ": Shunt has no FFT; see docs/differences.md")):
        result = by_text("-c", f"import {name}")
        assert (f"ModuleNotFoundError: No module named '{name}': `import torch` is answered by Shunt here, which "
                f"doesn't have it{hint}\n") in result.stderr


def test_tracebacks_begin_with_the_program(tmp_path):
    result = run(tmp_path, "def f():\n    1 / 0\n\nf()")
    assert result.returncode == 1
    lines = [line for line in result.stderr.splitlines() if line.startswith("  File")]
    file = tmp_path / "program.py"
    assert lines == [f'  File "{file}", line 4, in <module>', f'  File "{file}", line 2, in f'], result.stderr
    result = subprocess.run([sys.executable, "-m", "shunt", "-c", "1 / 0"], capture_output=True, text=True)
    assert result.stderr.splitlines()[1] == '  File "<string>", line 1, in <module>', result.stderr


def test_names_are_printed_as_torchs(tmp_path):
    result = run(tmp_path, """
        import torch
        x = torch.ones(2, dtype=torch.float64)
        print(str(x.dtype) == "torch.float64", torch.channels_last, x.layout, x.shape, x.type(), x.type("torch.IntTensor"))
        print(x, type(x), torch.FloatTensor, x.max(0), x.mode(0), torch.typename(x), f"{torch.float32}")
        print(torch.overrides.resolve_name(torch.Tensor.add))
        import pickle
        assert pickle.loads(pickle.dumps([x.dtype, x.shape])) == [x.dtype, x.shape]
        """)
    assert result.stderr == ""
    assert result.stdout == (
        "True torch.channels_last torch.strided torch.Size([2]) torch.DoubleTensor tensor([1, 1], dtype=torch.int32)\n"
        "tensor([1., 1.], dtype=torch.float64) <class 'torch.Tensor'> <class 'torch.FloatTensor'> "
        "torch.return_types.max(\nvalues=tensor(1., dtype=torch.float64),\nindices=tensor(0)) "
        "torch.return_types.mode(\nvalues=tensor(1., dtype=torch.float64),\nindices=tensor(1)) torch.DoubleTensor "
        "torch.float32\ntorch.Tensor.add\n")
    assert str(shunt.float32) == "shunt.float32"


def test_info():
    result = subprocess.run([sys.executable, "-m", "shunt", "info"], env={**os.environ, "SHUNT_JIT_THRESHOLD": "77"},
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"version  {shunt.__version__}\n")
    assert "\n  SHUNT_JIT_THRESHOLD=77 (set)\n" in result.stdout
    assert shunt.__config__.show().startswith(f"version  {shunt.__version__}\n")


def test_importing_shunt_answers_no_torch(tmp_path):
    result = run(tmp_path, """
        import sys
        import shunt
        assert "torch" not in sys.modules
        shunt.as_torch()
        import torch
        assert torch.Tensor is shunt.Tensor
        torch.manual_seed(3)
        torch.marker = 1
        assert shunt.marker == 1
        """, by=())
    assert result.returncode == 0, result.stderr


def by_text(*arguments, text=None):
    return subprocess.run([sys.executable, "-m", "shunt", *arguments], input=text, capture_output=True, text=True)


def test_a_program_as_an_argument_and_as_input():
    program = "import sys, torch; print(torch.ones(2).sum().item(), sys.argv, __name__)"
    assert by_text("-c", program, "--flag").stdout == "2.0 ['-c', '--flag'] __main__\n"
    assert by_text("-", "x", text=program).stdout == "2.0 ['-', 'x'] __main__\n"
    assert by_text("-c", "raise SystemExit(5)").returncode == 5
    assert by_text("-c").returncode == 2


def test_modules_by_their_files_names():
    result = by_text("-c", "from torch.optim.adam import Adam\nfrom torch.optim.nadam import NAdam\nimport torch\n"
                           "from torch.distributions.normal import Normal\nfrom torch.utils.data.sampler import Sampler\n"
                           "print(Adam is torch.optim.Adam, torch.optim.nadam.NAdam is NAdam, Normal(0.0, 1.0).mean.item())")
    assert result.stdout == "True True 0.0\n", result.stderr


def test_what_cant_be_imported_is_said_to_be_shunts_lack():
    result = by_text("-c", "import importlib.util, torch\nprint(importlib.util.find_spec('torch.fx'))\nfrom torch.fx "
                           "import Graph")
    assert result.stdout == "None\n"
    assert "ModuleNotFoundError: No module named 'torch.fx': `import torch` is answered by Shunt here" in result.stderr
    assert "doesn't have: torch.fx\n" in result.stderr
    result = by_text("-c", "from torch.nn import NoSuchModule")
    assert "ImportError: cannot import name 'NoSuchModule' from 'torch.nn' (" in result.stderr and "shunt" in result.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_anew_find_torch(tmp_path, method):
    result = run(tmp_path, f"""
        import multiprocessing
        import torch

        def double(x):
            import torch.nn.functional as F
            assert torch.__version__ == "2.13.0"
            return F.relu(x * 2)

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map(double, [torch.ones(2), torch.zeros(1)]))
        """)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[tensor([2., 2.]), tensor([0.])]\n"


def test_what_is_set_is_seen(tmp_path):
    result = run(tmp_path, """
        from unittest import mock
        import torch
        import shunt

        torch.zeros(1)
        relu = torch.nn.functional.relu
        with mock.patch("torch.nn.functional.relu", lambda x: "patched"):
            assert torch.nn.functional.relu(1) == shunt.nn.functional.relu(1) == "patched"
        assert torch.nn.functional.relu is relu is shunt.nn.functional.relu
        torch.mine = len
        assert torch.mine is len and shunt.mine is len
        del torch.mine
        assert not hasattr(torch, "mine") and not hasattr(shunt, "mine")
        torch.backends.cudnn.benchmark = True
        with torch.backends.cudnn.flags():
            assert torch.backends.cudnn.benchmark is False
        assert torch.backends.cudnn.benchmark is True
        assert "zeros" in dir(torch)

        @torch.compile
        def f(x):
            return torch.relu(x) + torch.ones(2)

        assert [f(torch.ones(2)).tolist() for _ in range(5)] == [[2.0, 2.0]] * 5
        """)
    assert result.returncode == 0, result.stderr


def test_a_misspelt_name():
    program = """
import shunt, sys
shunt.as_torch()
import torch
for module, name in ((shunt, "zeross"), (torch, "zeross"), (torch.nn, "Lnear"), (torch, "nothing_like_it")):
    for _ in range(2):
        try:
            getattr(module, name)
        except AttributeError as error:
            print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[::2] == done.stdout.splitlines()[1::2] == [
        "module 'shunt' has no attribute 'zeross'; did you mean 'zeros'?",
        "module 'torch', answered by shunt, has no attribute 'zeross'; did you mean 'zeros'?",
        "module 'torch.nn', answered by shunt.nn, has no attribute 'Lnear'; did you mean 'Linear'?",
        "module 'torch', answered by shunt, has no attribute 'nothing_like_it'"], done.stderr
