"""What the programs use of matplotlib: nothing is drawn."""

import sys
import types


def use(backend):
    """Chooses nothing."""


class _Drawing(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


__path__ = []
pyplot = sys.modules["matplotlib.pyplot"] = _Drawing("matplotlib.pyplot")
