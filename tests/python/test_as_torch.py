"""Programs written for PyTorch: python -m shunt, shunt.as_torch."""

import subprocess
import sys
import textwrap

import pytest


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


@pytest.mark.parametrize("arguments, code", [([], 2), (["--help"], 0), (["no/such/file.py"], 2), (["-m"], 2)])
def test_usage(arguments, code):
    result = subprocess.run([sys.executable, "-m", "shunt", *arguments], capture_output=True, text=True)
    assert result.returncode == code
    assert "usage: python -m shunt" in result.stdout + result.stderr or "no such file" in result.stderr


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
