"""What importing shunt_torch demands of the process: the right PyTorch and one libshunt."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

import shunt_torch
from shunt_torch import _build, _load

VERSION = _build.VERSION
MINOR = VERSION.rpartition(".")[0]
VERSION_OF_TORCH = torch.__version__
INSTALL = f"pip install 'torch=={_build.TORCH}.*'"


def error_of(program, torch_version=VERSION_OF_TORCH, **environment):
    """What `import shunt_torch` raises after `program` in a fresh process; "" where nothing is. A module with nothing but a
    version stands for PyTorch, so that no extension can be loaded after it."""
    script = f"""
import sys, types
sys.modules["torch"] = types.SimpleNamespace(__version__={torch_version!r})
{program}
try:
    import shunt_torch
except ImportError as error:
    assert "shunt_torch._C" not in sys.modules
    print(error)
"""
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True,
                          env={**os.environ, **environment}).stdout.strip()


def test_version():
    assert shunt_torch.__version__ == VERSION
    assert shunt_torch._C.runtime_version() == VERSION
    assert shunt_torch._C.self_test() >= 0
    assert torch.__version__.startswith(_build.TORCH + ".")


def test_loaded_once():
    assert _load.loaded_libshunts() == [os.path.realpath(_load._libshunt())]


@pytest.mark.parametrize("version", [_build.TORCH + rest for rest in (".1", ".0+cu130", ".0a0+git1234567")])
def test_every_build_of_the_right_version(version, monkeypatch):
    monkeypatch.setattr(torch, "__version__", version)
    _load.check_torch()


@pytest.mark.parametrize("version", ["2.12.1", "2.14.0+cpu", "2.130.0", "3.0.0a0+git1234567"])
def test_another_pytorch(version, monkeypatch):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(ImportError) as error:
        _load.check_torch()
    assert str(error.value) == (f"shunt-torch {MINOR} works with PyTorch {_build.TORCH}; this is {version}. {INSTALL}")


def test_a_refused_import_loads_nothing():
    error = error_of("import atexit\natexit.register(lambda: print('libshunt' in open('/proc/self/maps').read()))", "2.12.1")
    assert error == f"shunt-torch {MINOR} works with PyTorch {_build.TORCH}; this is 2.12.1. {INSTALL}\nFalse"


def test_no_pytorch():
    error = error_of("sys.modules['torch'] = None")
    assert error == f"shunt-torch {MINOR} works with PyTorch {_build.TORCH}; there is none. {INSTALL}"


def test_a_second_libshunt(tmp_path):
    ours = os.path.realpath(_load._libshunt())
    other = tmp_path / os.path.basename(_load._libshunt())
    shutil.copy(ours, other)
    error = error_of(f"import ctypes\nctypes.CDLL({str(other)!r})")
    assert error == (f"this process has already loaded another copy of Shunt, {other}, and shunt-torch needs {ours}; "
                     "what loaded the other has to be built against the package shunt-runtime.")


def test_the_same_libshunt_before():
    _load.load_libshunt()
    test_loaded_once()


def test_no_room_for_thread_locals():
    error = error_of("", GLIBC_TUNABLES="glibc.rtld.optional_static_tls=0:glibc.rtld.nns=1")
    assert "cannot allocate memory in static TLS block. Other libraries have used up the room for thread-locals" in error
