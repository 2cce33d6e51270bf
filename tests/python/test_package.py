"""What importing shunt demands of the process, and that it comes with one libshunt."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

import shunt
from shunt import _build, _libshunt

OURS = os.path.realpath(_libshunt.libshunt()) if os.path.isabs(_libshunt.libshunt()) else ""


def output_of(program, **environment):
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def error_of(program, **environment):
    """What `import shunt` raises after `program` in a fresh process; "" where nothing is."""
    return output_of(f"""
import sys
{program}
try:
    import shunt
except ImportError as error:
    assert "shunt._C" not in sys.modules
    print(error)
""", **environment)


def test_version():
    assert shunt.__version__ == _build.VERSION == shunt._C.__version__


def test_loaded_once():
    assert len(_libshunt.loaded_libshunts()) == 1
    assert not OURS or _libshunt.loaded_libshunts() == [OURS]


def test_a_free_threaded_python():
    error = error_of("sys.abiflags = 't'")
    assert error.startswith("shunt isn't written yet for free-threaded builds of Python")


@pytest.fixture
def another_libshunt():
    """A copy, which finds what the original finds: by where it lies."""
    if not OURS or not os.access(os.path.dirname(OURS), os.W_OK):
        pytest.skip("the folder of libshunt can't be written")
    other = f"{OURS}.{os.getpid()}"
    shutil.copy(OURS, other)
    yield other
    os.remove(other)


def test_a_second_libshunt(another_libshunt):
    error = error_of(f"import ctypes\nctypes.CDLL({another_libshunt!r})")
    assert error == (f"this process has already loaded another copy of Shunt, {another_libshunt}, and shunt needs "
                     f"{OURS}; what loaded the other has to be built against the package shunt-runtime.")


def test_no_room_for_thread_locals():
    error = error_of("", GLIBC_TUNABLES="glibc.rtld.optional_static_tls=0:glibc.rtld.nns=1")
    assert "static TLS block. Other libraries have used up the room for thread-locals: import shunt before" in error


@pytest.mark.parametrize("before", ["pass", "import shunt"])
def test_a_subinterpreter(before):
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    pytest.importorskip(module)
    script = f"""
import sys
sys.path[:] = {sys.path!r}
try:
    import shunt
except ImportError as error:
    print(error)
"""
    program = f"""
import {module} as interpreters
{before}
run = getattr(interpreters, "exec", None) or interpreters.run_string
run(interpreters.create(), {script!r})
"""
    assert output_of(program) == "shunt works in the main interpreter of a process only; this is another."


def test_without_numpy():
    program = "import sys; sys.modules['numpy'] = None; import shunt; print(int(shunt.ones(2).sum()))"
    assert output_of(program) == "2"


def test_imports_nothing_large():
    """Only the standard library, and of it nothing that takes long."""
    loaded = output_of("import sys; import shunt; print(*sys.modules)").split()
    for name in ("numpy", "torch", "asyncio", "unittest", "importlib.metadata", "sysconfig", "multiprocessing"):
        assert name not in loaded, name


@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("shunt_torch", "torch"))),
                    reason="there is no shunt_torch or no PyTorch")
@pytest.mark.parametrize("first, second", [("shunt", "shunt_torch"), ("shunt_torch", "shunt")])
def test_beside_shunt_torch(first, second):
    program = f"""
import {first}, {second}
import shunt, shunt_torch
from shunt import _libshunt
assert len(_libshunt.loaded_libshunts()) == 1, _libshunt.loaded_libshunts()
assert shunt_torch._C.self_test() >= 0
print(shunt.ones(3).sum().item())
"""
    assert output_of(program) == "3.0"
