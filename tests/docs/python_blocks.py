"""Runs the Python blocks of a page, for tests/python/test_pages.py and tests/torch/test_pages.py."""

import contextlib
import io
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools" / "docs")]
import commands  # noqa: E402
import pages  # noqa: E402
import running  # noqa: E402

NEEDS_SHUNT_TORCH = re.compile(r"^\s*(?:import|from) shunt_torch\b|backend=\"shunt\"", re.M)
NEEDS_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.M)


def blocks_of(page):
    """Returns a page's blocks before the first that needs shunt_torch, and the others."""
    found = pages.blocks(page, pages.read(ROOT, page))
    needing = [i for i, block in enumerate(found)
               if block.language == "python" and NEEDS_SHUNT_TORCH.search(block.text)]
    first = needing[0] if needing else len(found)
    return found[:first], found[first:]


def pages_with(blocks_in):
    """The pages that have Python blocks among blocks_in(page)."""
    documented = pages.documented_pages(ROOT)
    return [page for page in documented if any(block.language == "python" for block in blocks_in(page))]


def run_block(block, shown, namespace):
    """Runs it at its place in the page, so that an error shows the page's line."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(ROOT / block.page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    difference = running.difference(block, shown, printed.getvalue())
    assert difference is None, difference


def run_commands(block, shown, folder, listed, build):
    """Runs those of a sh block, with this Python as python3."""
    tools = folder / "tools"
    if not tools.exists():
        tools.mkdir()
        python = tools / "python3"
        path = os.pathsep.join(filter(None, sys.path))
        python.write_text(f"#!/bin/sh\nPYTHONPATH='{path}' exec '{sys.executable}' \"$@\"\n")
        python.chmod(0o755)
        running.prepare(folder, build)
    error = running.run_commands(block, shown, folder, listed, str(tools))
    assert error is None, error


def run_page(blocks, folder, build=None):
    """The blocks in their order, in `folder`. Commands run where `build` is a build folder."""
    namespace, listed, skipped = {"__name__": "docs"}, commands.listed(), 0
    for block in blocks:
        running.write_named_file(block, folder)
        shown = running.output_of(block, blocks, build)
        if block.language == "python":
            if NEEDS_TORCH.search(block.text) and not has_torch():
                skipped += 1
                continue
            run_block(block, shown, namespace)
        elif block.language == "sh" and build:
            run_commands(block, shown, folder, listed, build)
    return skipped


def has_torch():
    import importlib.util

    return importlib.util.find_spec("torch") is not None
