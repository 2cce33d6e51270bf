"""The package by array-api-tests, the test suite of the Python array API standard.

    tests/run --long python --array-api FOLDER

FOLDER is a checkout of the repository data-apis/array-api-tests with its submodule. SHUNT_ARRAY_API_EXAMPLES says how
many examples each test draws (100).
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
FOLDER = os.environ.get("SHUNT_ARRAY_API")
NEEDED = ("hypothesis", "ndindex", "pytest_jsonreport")


@pytest.mark.skipif(not FOLDER, reason="not run: no folder was given (tests/run --long python --array-api FOLDER)")
def test_the_suite_of_the_standard(record_property):
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not run: {sys.executable} lacks {', '.join(missing)}")
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "shunt.array_api",
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "pytest", "-p", "judged_functions", "-p", "no:cacheprovider", "-q",
               "--disable-warnings", "-W", "ignore", "--tb=short", "--disable-deadline", "--max-examples",
               os.environ.get("SHUNT_ARRAY_API_EXAMPLES", "100"), f"--xfails-file={HERE / 'differences.txt'}",
               "array_api_tests"]
    ran = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True)
    last = ran.stdout.strip().rpartition("\n")[2]
    print(last)
    record_property("result", last)
    assert ran.returncode == 0, ran.stdout[-20000:] + ran.stderr[-4000:]
    assert int(re.search(r"(\d+) passed", last)[1]) > 1000, last
