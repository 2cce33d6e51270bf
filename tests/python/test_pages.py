"""Each page with Python blocks: they run, one after the other, in one namespace, and so do its commands.

tests/docs/README.md has the rules."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "docs"))
import python_blocks

PAGES = python_blocks.pages_with(lambda page: python_blocks.blocks_of(page)[0])


def build_folder():
    """That of the package, where it is in one: commands need its bin/."""
    import shunt

    build = pathlib.Path(shunt.__file__).parents[2]
    return build if (build / "bin" / "shunt").exists() else None


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    skipped = python_blocks.run_page(python_blocks.blocks_of(page)[0], tmp_path, build_folder())
    if skipped:
        pytest.skip(f"{skipped} blocks of {page} compare with PyTorch, which isn't there; the others ran")


def test_there_are_pages():
    assert "docs/python.md" in PAGES
