"""python_reference.py OUT: the package shunt's reference in OUT, by pdoc, from its doc strings."""

import pathlib
import pkgutil
import sys

import pdoc
import shunt

# What programs import; modules that begin with _ are details, and these import what may not be there.
LEFT_OUT = ("shunt._", "shunt.testing", "shunt.distributed", "shunt.onnx")


def modules():
    yield "shunt"
    for module in pkgutil.walk_packages(shunt.__path__, "shunt.", onerror=lambda name: None):
        if not module.name.startswith(LEFT_OUT) and "._" not in module.name and not module.name.endswith("__main__"):
            yield module.name


def main(out):
    pdoc.render.configure(docformat="markdown", show_source=False, search=True)
    pdoc.pdoc(*modules(), output_directory=pathlib.Path(out))


if __name__ == "__main__":
    main(sys.argv[1])
