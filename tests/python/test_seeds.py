"""The programs of the documents that Shunt was built from: seeds/README.md."""

import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent / "seeds"

# What each program has to print, as a regular expression for all of it.
SECONDS = r"\d+\.\d{6}s"
RESULTS = {
    "s0_devices": r"cpu True\ncuda is an error: \w+\nmps is an error: \w+\n",
    "s0_modes": r"None\nAddBackward0 AddBackward0\nTrue\nTrue\n\(3, 4\) True\n",
    "s0_autograd_cuda": r"cuda is an error: True\n|cuda AddBackward0\n",
    "s0_dump": r"(.*\n)*name: aten::add\.Tensor\n(.+\n)*CPU: registered.*\n(.+\n)*Autograd: registered.*\n(.*\n)*",
    "s0_custom_operator": r"使用 CPU 实现\nTrue\n(使用 CUDA 实现\n)?",
    "s0_logging_mode": r"调用: randn(.*\n)+调用: add.*\n 输入形状: \[.*\(?\[?3, 4\]?\)?.*, 1\]\n 输出形状: .*3, 4.*\n"
                       r"调用: mul.*\n 输入形状: \[.*3, 4.*, 2\]\n 输出形状: .*3, 4.*\n",
    "s0_subclass": r"<class '__main__\.MyTensor'>\n",
    "s0_autograd": r"<MulBackward0.*>\nTrue\n",
    "s0_backend_select": r"cpu\n两个设备: True\n",
    "s0_python_key": r"(Python dispatch: aten.*\n)*Python dispatch: aten\.add\.Tensor\n(Python dispatch: aten.*\n)*\[2\.0, 2\.0\]\n",
    "s0_fake_tensors": r".*\[100, 100\].*\n",
    "s0_decomposition": r"True\n",
    "s0_functionalize": r"True False True\n",
    "s0_out_forms": r"True\n",
    "s0_profiling_mode": r"\n操作统计:\n( \S+ +调用: +\d+ 次, 总时间: \d+\.\d\dms\n){2,}",
    "s0_autocast": r"True\nTrue\n",
    "s3_hijack_mode": r"custom\ncustom\ncustom\nTrue\n",
    "s3_profiling": rf"(aten\.ones: {SECONDS}\n)*aten\.mm: {SECONDS}\naten\.relu: {SECONDS}\n",
    "s3_validation": r"fine\nInput contains NaN\nOutput contains NaN\n",
    "s3_custom_implementation": r"my_faster_matmul\nTrue MmBackward0 True\n",
    "s3_debug": r"(Calling aten\.t\n.*\n.*\n)?Calling aten\.mm\n  Input shapes: \[.*2, 3.*3, 2.*\]\n  Output shape: .*2, 2.*\n",
    "s3_no_recursion": r"True\n",
    "s3_original": r"True\n",
    "s3_conditional": r"custom 4096\n",
    "s3_nested": r"mode2 aten\.mm\nmode1 aten\.mm\n",
    "s3_statistics": r"aten\.add: 3 calls\naten\.mul: 1 calls\n",
    "s3_logging": r"(Called: aten\.\w+\n)*Called: aten\.(linear|addmm|mm)\n(Called: aten\.\w+\n)*Called: aten\.relu\n",
    "s3_tracing": r"Call stack:\n(.*\n)*.*in compute\n(.*\n)*",
}


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("block", sorted(path.stem for path in (FOLDER / "blocks").iterdir()))
def test_a_program_has_every_line_of_its_block(block):
    program = iter(lines_of((FOLDER / f"{block}.py").read_text()))
    for line in lines_of((FOLDER / "blocks" / f"{block}.txt").read_text()):
        assert line in program, f"{block}.py lacks, or has in another place: {line}"


def test_each_block_has_a_program_and_a_result():
    blocks = {path.stem for path in (FOLDER / "blocks").iterdir()}
    assert blocks == {path.stem for path in FOLDER.glob("*.py")} == set(RESULTS)


@pytest.mark.parametrize("name", RESULTS)
def test_a_program_shows_its_result(name):
    run = subprocess.run([sys.executable, "-m", "shunt", str(FOLDER / f"{name}.py")], capture_output=True, text=True,
                         timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert re.fullmatch(RESULTS[name], run.stdout), run.stdout
