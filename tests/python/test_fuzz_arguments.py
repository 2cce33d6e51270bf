"""The fuzzer of arguments, for a moment: other objects each day. fuzz_arguments.py runs as long as one likes."""

import datetime
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def test_no_arguments_crash():
    seed = os.environ.get("SHUNT_FUZZ_SEED", datetime.date.today().strftime("%y%m%d"))
    done = subprocess.run([sys.executable, os.path.join(HERE, "fuzz_arguments.py"), "--seconds", "10", "--seed", seed],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    calls, values = (int(word) for word in done.stdout.split() if word.isdigit())
    assert calls > 500 and values > 50, done.stdout
