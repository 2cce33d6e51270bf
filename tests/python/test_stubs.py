"""Stubs name what there is, mypy understands programs by them, and every operator says how it is called."""

import ast
import pathlib
import subprocess
import sys

import pytest

import shunt

PACKAGE = pathlib.Path(shunt.__file__).parent
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def names_in(nodes):
    """What a stub's statements define."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def stub(file):
    return ast.parse((PACKAGE / file).read_text()).body


def class_in(body, name):
    return next(set(names_in(node.body)) for node in body if isinstance(node, ast.ClassDef) and node.name == name)


def public(names):
    return {name for name in names if not name.startswith("_")}


# Names of types, which exist in stubs only.
ONLY_IN_STUBS = {"Number", "Device", "DType"}


def test_the_extension():
    named = public(names_in(stub("_C.pyi"))) - ONLY_IN_STUBS
    assert named == public(dir(shunt._C))


def test_the_operators():
    functions = public(names_in(stub("_operators.pyi")))
    assert functions == {name for name in public(dir(shunt._C._functions)) if not name.endswith("_backward")}


def test_tensors():
    operators = class_in(stub("_operators.pyi"), "_TensorOperators")
    written = class_in(stub("_C.pyi"), "TensorBase")
    both = public(operators & written)
    assert not both, "these are in both stubs"
    there = {name for name in vars(shunt._C.TensorBase) if not name.endswith("_backward")}
    assert public(operators | written) == public(there)
    # Whatever else Python has of its own.
    missing = {name for name in written - there if not hasattr(shunt._C.TensorBase, name)}
    assert not missing, "these are only in the stub"


@pytest.mark.parametrize("owner", [shunt._C._functions, shunt._C.TensorBase], ids=["functions", "methods"])
def test_every_operator_has_signatures(owner):
    operators = {name for name in public(dir(shunt._C._functions))
                 if not name.endswith("_backward") and hasattr(owner, name)}
    assert len(operators) > 150
    for name in operators:
        text = getattr(owner, name).__doc__ or ""
        assert text.startswith(name + "("), f"{name}: {text!r}"
        assert " -> " in text.splitlines()[0], f"{name}: {text!r}"


def test_many_operators_have_texts():
    texts = [getattr(shunt._C._functions, name).__doc__ or "" for name in public(dir(shunt._C._functions))]
    assert sum("\n>>> " in text for text in texts) >= 80


def mypy(folder, *files):
    pytest.importorskip("mypy")
    settings = folder / "mypy.ini"
    settings.write_text("[mypy]\nstrict_equality = True\nfollow_imports = silent\n"
                        "[mypy-matplotlib.*,numpy.*]\nignore_missing_imports = True\n")
    done = subprocess.run([sys.executable, "-m", "mypy", f"--config-file={settings}", "--cache-dir=/dev/null",
                           *map(str, files)],
                          capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""})
    return done.stdout + done.stderr


def test_mypy_knows_types(tmp_path):
    lines = [
        ("shunt.zeros(2, 3, dtype=shunt.float32)", "Tensor"),
        ("shunt.sort(x).values", "Tensor"),
        ("x.max()", "Tensor"),
        ("x.split(2)", "tuple[Tensor, ...]"),
        ("x.shape[0]", "int"),
        ("x[0, 1:, None]", "Tensor"),
        ("x.view(2, -1)", "Tensor"),
        ("1 + x", "Tensor"),
        ("x == 1", "Tensor"),
        ("x.is_leaf", "bool"),
        ("shunt.bool", "dtype"),
        ("shunt.nn.Linear(2, 3)", "shunt.nn.modules.linear.Linear"),
    ]
    wrong = ["x.no_such_method()", "shunt.no_such_function()", "shunt.add(x, 'a')", "shunt.zeros(2, dtype='float32')"]
    program = tmp_path / "program.py"
    known = [f"reveal_type({expression})" for expression, _ in lines]
    program.write_text("\n".join(["import shunt", "x = shunt.ones(3)", *known, *wrong]))
    output = mypy(tmp_path, program).replace("shunt._tensor.", "").replace("shunt._C.",
                                                                           "").replace("builtins.", "").splitlines()
    for number, (expression, kind) in enumerate(lines, 3):
        assert f'{program}:{number}: note: Revealed type is "{kind}"' in output, (expression, output)
    for number, expression in enumerate(wrong, 3 + len(lines)):
        assert any(line.startswith(f"{program}:{number}: error:") for line in output), (expression, output)


def test_mypy_on_examples(tmp_path):
    files = sorted(EXAMPLES.glob("*.py"))
    if not files:
        pytest.skip("there are no examples")
    output = mypy(tmp_path, *files)
    assert output.startswith("Success"), output
