"""The fuzzer of arguments, for a moment. fuzz_arguments.py runs as long as one likes, from other seeds."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def test_no_arguments_crash():
    seed = os.environ.get("SHUNT_FUZZ_SEED", "1")
    done = subprocess.run([sys.executable, os.path.join(HERE, "fuzz_arguments.py"), "--seconds", "10", "--seed", seed],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    calls, values = (int(word) for word in done.stdout.split() if word.isdigit())
    assert calls > 500 and values > 50, done.stdout
