"""python_reference.py OUT: the reference of the package shunt in OUT, by pdoc, from its doc strings."""

import inspect
import pathlib
import pkgutil
import sys
import warnings

import pdoc
import pdoc.doc
import pdoc.render
import shunt

# Names that begin with _ are details, shunt.nn has its modules' classes, and the others exist for programs that import
# them and do little.
LEFT_OUT = ("!shunt\\.(.*\\.)?_", "!shunt\\.nn\\.modules", "!shunt\\.(testing|distributed|onnx)")


def name_what_is_public(package, more=()):
    """Lets pdoc list what programs take as <package>.<name>, wherever it is defined."""
    names = {name for name in dir(package) if not name.startswith("_")} | set(more)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}
    members = {name for name in names - modules if not inspect.ismodule(getattr(package, name, None))}
    package.__all__ = sorted(members | modules)


def main(out):
    name_what_is_public(shunt, shunt._NAMES)
    name_what_is_public(shunt.nn)
    # The stubs name the C++ extension's types by names that only checkers of types know.
    pdoc.doc.doc_pyi.include_typeinfo_from_stub_files = lambda module: None
    pdoc.render.configure(docformat="markdown", show_source=False, search=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pdoc.pdoc("shunt", *LEFT_OUT, output_directory=pathlib.Path(out))


if __name__ == "__main__":
    main(sys.argv[1])
