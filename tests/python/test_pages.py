"""Each page of docs/ that has Python programs: its blocks run, one after the other, in one namespace."""

import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = ["batching_rules.md", "python.md", "python_dispatch.md"]


def blocks_of(page):
    text = (DOCS / page).read_text()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M):
        yield text[:match.start()].count("\n") + 2, match.group(1)


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(page):
    pytest.importorskip("numpy")
    namespace = {"__name__": "docs"}
    blocks = list(blocks_of(page))
    assert blocks
    for line, block in blocks:
        # At its place in the page, so that an error shows the page's line.
        exec(compile("\n" * (line - 1) + block, str(DOCS / page), "exec"), namespace)
