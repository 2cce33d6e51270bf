"""The pages about shunt_torch: their Python blocks run, from the first that imports it on, in one namespace for each page."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "docs"))
import python_blocks

PAGES = python_blocks.pages_with(lambda page: python_blocks.blocks_of(page)[1])


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python_blocks.run_page(python_blocks.blocks_of(page)[1], tmp_path)


def test_there_are_pages():
    assert "docs/pytorch.md" in PAGES
