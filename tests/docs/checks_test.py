"""Each check of the pages sees the mistake that it is there for."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools" / "docs")]
import check_html  # noqa: E402
import commands  # noqa: E402
import doxygen_filter  # noqa: E402
import pages  # noqa: E402
import running  # noqa: E402
import undocumented  # noqa: E402


def script(name):
    """A script of this folder, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


check_blocks, check_links, extract = script("check_blocks"), script("check_links"), script("extract")
check_examples = script("check_examples")
FENCE = "```"


def page(*blocks):
    """A page of (words after the fence, text) and of strings, which stand as they are."""
    parts = [block if isinstance(block, str) else f"{FENCE}{block[0]}\n{block[1]}\n{FENCE}" for block in blocks]
    return "\n".join(parts) + "\n"


def blocks_of(*parts):
    return pages.blocks("docs/x.md", page(*parts))


def errors_of(*parts, listed=()):
    listed = dict.fromkeys(listed)
    return [error for block in blocks_of(*parts) for error in check_blocks.errors_of_block(block, listed)]


class Blocks(unittest.TestCase):
    def test_language(self):
        self.assertEqual(errors_of(("", "x")),
                         ["docs/x.md:2: the block has no language: one of cmake, cpp, python, sh, text, yaml"])
        self.assertEqual(errors_of(("c++", "x")),
                         ["docs/x.md:2: unknown language 'c++': expected one of cmake, cpp, python, sh, text, yaml"])
        self.assertEqual(errors_of(("cpp files", "x")), ["docs/x.md:2: unknown word 'files' after cpp"])
        self.assertEqual(errors_of(("cpp file", "int x;"), ("text", "...")), [])

    def test_program_includes_shunt(self):
        self.assertEqual(errors_of(("cpp", "int main() {}")), ["docs/x.md:2: the program includes no header of Shunt"])

    def test_python_is_python(self):
        self.assertEqual(errors_of(("python", "x = 1\nx = = 2")), ["docs/x.md:3: invalid syntax"])

    def test_commands_run_or_are_listed(self):
        self.assertEqual(errors_of(("sh", "bin/shunt ops mm  # names\nmake  all"), listed=["make all"]), [])
        self.assertEqual(errors_of(("sh", "make \\\n  all # it\nls")), [
            "docs/x.md:2: no test runs this command, and tests/docs/commands.txt lacks it: make    all",
            "docs/x.md:4: no test runs this command, and tests/docs/commands.txt lacks it: ls"])
        self.assertEqual(errors_of(("sh", "$ ls")),
                         ["docs/x.md:2: a sh block has commands without a prompt, and no output"])

    def test_a_hash_in_quotes_is_no_comment(self):
        self.assertEqual(commands.without_comment("echo 'a # b' c#d # e"), "echo 'a # b' c#d ")

    def test_list_has_no_idle_lines_and_no_unknown_tests(self):
        listed = {"make": ("make_test", 3), "ls": ("ls_test", 4)}
        self.assertEqual(list(check_blocks.errors_of_list(listed, {"make"}, lambda test: test == "ls_test")), [
            "commands.txt:3: there is no test 'make_test'", "commands.txt:4: no page has this command any more: ls"])

    def test_output_follows_what_prints_it(self):
        error = "output follows no program, Python block or sh block directly"
        self.assertEqual(errors_of(("python", "print(1)"), "", ("text output", "1")), [])
        self.assertEqual(errors_of(("python", "print(1)"), "prints", ("text output", "1")), [f"docs/x.md:6: {error}"])
        self.assertEqual(errors_of(("cpp", "f();"), ("text output", "1")), [f"docs/x.md:5: {error}"])

    def test_block_without_end(self):
        with self.assertRaisesRegex(ValueError, "docs/x.md:2: the block that begins here has no end"):
            pages.blocks("docs/x.md", f"{FENCE}cpp\nint x;\n")

    def test_block_in_a_list(self):
        block, = pages.blocks("docs/x.md", f"1. text:\n   {FENCE}cpp\n   if (x)\n     f();\n   {FENCE}\n")
        self.assertEqual((block.text, block.line), ("if (x)\n  f();\n", 3))


class Sources(unittest.TestCase):
    def test_fragments(self):
        blocks = blocks_of(("cpp", "#include <vector>\nf(x);"), ("cpp file", "int g();"))
        self.assertEqual(extract.fragments("docs/x.md", blocks), (
            '#include <shunt/shunt.h>\n#line 2 "docs/x.md"\n#include <vector>\nusing namespace shunt;\n'
            'namespace {\n[[maybe_unused]] void block_1() {\n#line 2 "docs/x.md"\n\nf(x);\n}\n}\n'
            '#line 6 "docs/x.md"\nint g();\n'))

    def test_what_has_a_test(self):
        self.assertTrue(extract.runs_something(blocks_of(("cpp", "int main() {}"), ("python", "x = 1"))))
        self.assertTrue(extract.runs_something(blocks_of(("sh", "SHUNT_JIT=0 bin/shunt ops"))))
        self.assertFalse(extract.runs_something(blocks_of(("sh", "bin/shunt ops"), ("python", "x = 1"))))
        self.assertFalse(extract.runs_something(blocks_of(("sh", "bin/shunts"), ("cpp", "f();"))))


class Output(unittest.TestCase):
    def test_matches(self):
        for expected, printed in [("a\nb", "a\nb\n"), ("a ... c", "a b c\n"), ("a\n...\nd", "a\nb\nc\nd\n"),
                                  ("a\n...", "a\n"), ("a  \nb", "a\nb")]:
            self.assertTrue(running.matches(expected + "\n", printed), (expected, printed))
        for expected, printed in [("a\nb", "a\n"), ("a ... c", "a b\nc\n"), ("a\n...\nd", "a\nb\n"), ("a.c", "abc"),
                                  ("a", "a\nb")]:
            self.assertFalse(running.matches(expected + "\n", printed), (expected, printed))

    def test_output_of_the_compiler(self):
        with tempfile.TemporaryDirectory() as build:
            found = blocks_of(("python", "print(1)"), ("text output compiler", "1"))
            self.assertIsNone(running.output_of(found[0], found, build))
            self.assertIs(running.output_of(found[0], found), found[1])

    def test_commands_are_run_and_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bin").mkdir()
            tool = pathlib.Path(folder) / "bin" / "shunt"
            tool.write_text("#!/bin/sh\necho $1; exit $2\n")
            tool.chmod(0o755)
            block, shown = blocks_of(("sh", "bin/shunt a 0\nbin/shunt b $STATUS\nls"), ("text output", "a"))
            run = lambda listed: running.run_commands(block, shown, folder, dict.fromkeys(listed))  # noqa: E731
            self.assertEqual(run(["bin/shunt b $STATUS", "ls"]), None)  # not all of it ran
            self.assertIn("docs/x.md:2: prints\na\nb\n", run([]))
            block.text = "bin/shunt a 3"
            self.assertEqual(run([]), "docs/x.md:2: bin/shunt a 3: status 3\na\n")

    def test_named_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for block in blocks_of(("python", "# train.py\nx = 1"), ("python", "# train the model.\n")):
                running.write_named_file(block, folder)
            self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], ["train.py"])


class Links(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.root = pathlib.Path(work.name)
        for name in ("docs/a.md", "src/tiering/observe.h", "include/shunt/shunt.h"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("# Title, `a_b`\n\n## Same\n## Same\n")

    def errors(self, text):
        (self.root / "README.md").write_text(text)
        return list(check_links.Links(self.root).errors("README.md"))

    def test_links(self):
        good = "[a](docs/a.md#title-a_b), [b](docs/a.md#same-1), [c](https://x.org/y), `[d](no.md)`, ![e](docs)\n"
        self.assertEqual(self.errors(good), [])
        self.assertEqual(self.errors("[a](docs/b.md)"), ["README.md:1: link docs/b.md: there is no such file"])
        self.assertEqual(self.errors("\n[a\nb](docs/a.md#same-2)"),
                         ["README.md:2: link docs/a.md#same-2: docs/a.md has no heading with this anchor"])
        self.assertEqual(self.errors("[a](#x)"), ["README.md:1: link #x: the page has no heading with this anchor"])
        self.assertEqual(self.errors("[a](../x.md)"), ["README.md:1: link ../x.md: leads out of the repository"])
        self.assertEqual(self.errors("[a][b]\n\n[b]: docs/b.md\n"),
                         ["README.md:3: link docs/b.md: there is no such file"])

    def test_paths(self):
        good = ("`docs/a.md`, `src/{tiering}/observe`, `src/*/observe.h`, `shunt/shunt.h`, `a.md`, `build/x/y`, `x/y`, "
                "`src/<x>/y`, `docs/a.md --all`")
        self.assertEqual(self.errors(good), [])
        self.assertEqual(self.errors("`docs/b.md`"), ["README.md:1: `docs/b.md`: there is no such file: docs/b.md"])
        self.assertEqual(self.errors("`src/{tiering,core}/observe.h`"), [
            "README.md:1: `src/{tiering,core}/observe.h`: there is no such file: src/core/observe.h"])
        self.assertEqual(self.errors("`shunt/tensor.h`"),
                         ["README.md:1: `shunt/tensor.h`: there is no such file: shunt/tensor.h"])
        self.assertEqual(self.errors("`b.md`"), ["README.md:1: `b.md`: there is no such file: b.md"])

    def test_anchors(self):
        self.assertEqual(pages.slug(pages.heading_text("What *runs* `f(x)` itself, [and](x.md) why?")),
                         "what-runs-fx-itself-and-why")


class Groups(unittest.TestCase):
    def test_each_page_is_listed_once(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            for name in ("a", "b", "c"):
                (root / "docs" / f"{name}.md").write_text("# Title\n")
            (root / "docs" / "README.md").write_text(
                "# Pages\n[c](c.md)\n## One\n| page | |\n|---|---|\n| [a](a.md) | as [c](c.md) |\n| [x](../x.md) | |\n"
                "## Two\n| [b](b.md#y) | |\n| [a](a.md) | |\n")
            self.assertEqual(pages.groups(root), {"One": ["docs/a.md", "x.md"], "Two": ["docs/b.md", "docs/a.md"]})
            self.assertEqual(list(pages.errors_of_groups(root)),
                             ["docs/README.md: x.md is no page", "docs/README.md: docs/a.md is listed twice",
                              "docs/README.md: docs/c.md is not listed"])


class Examples(unittest.TestCase):
    def errors(self, *rows):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in [("README.md", "# Title\n"), ("docs/a.md", "# Title\n"),
                               ("docs/README.md", "# Pages\n## One\n| page |\n|---|\n| [a](a.md) |\n"),
                               ("examples/x/main.cpp", 'parts = {{"one", one}};\n'), ("examples/python/y.py", ""),
                               ("examples/README.md", "\n".join([check_examples.TITLE, *rows, ""]))]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return [error.removeprefix("examples/README.md: ") for error in check_examples.errors(root)]

    def test_table(self):
        readme = "| [README](../README.md) | it runs | [x](x/main.cpp) `one` |"
        page = "| [a](../docs/a.md) | more | [x](x/main.cpp), [y](python/y.py) |"
        self.assertEqual(self.errors(readme, page), [])
        self.assertEqual(self.errors(readme), ["no row for docs/a.md", "no row has the program examples/python/y.py"])
        self.assertEqual(self.errors(readme.replace("one", "two"), page), ["it runs: the program has no part `two`"])
        self.assertEqual(self.errors(readme, page, "| [a](../docs/a.md) | this | [z](z.cpp) `z` |"),
                         ["this: there is no file z.cpp"])
        self.assertEqual(self.errors(readme, page, "| [a](../docs/a.md) | this | |"), ["this: there is no program"])


class Html(unittest.TestCase):
    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.html").write_text('<h1 id="x"></h1><a href="b.html#y"></a><a href="#x"></a><a href="ftp://z"></a>')
            (root / "b.html").write_text('<script src="no.js"></script><a href="c.html"></a><!-- <a href="d.html"> -->')
            self.assertEqual(sorted(check_html.errors_below(root)), [
                "a.html: link b.html#y: there is no such anchor", "b.html: link c.html: there is no such file",
                "b.html: link no.js: there is no such file"])


HEADER = """// Box: holds a number.
#pragma once

namespace shunt {
class Box {
 public:
  // What it holds.
  int number() const;
  int same() const;

  bool empty_handed() const;  // whether it holds 0
  bool other() const;
};
}  // namespace shunt
"""


class Symbols(unittest.TestCase):
    def test_filter(self):
        filtered = doxygen_filter.filtered(HEADER).split("\n")
        self.assertEqual(len(filtered), HEADER.count("\n") + 1)
        self.assertEqual(filtered[1], "/// @file")
        self.assertEqual(filtered[4], "/** Holds a number. */ class Box {")
        self.assertEqual(filtered[6], "  /// What it holds.")
        self.assertEqual(filtered[10], "  bool empty_handed() const;  ///< whether it holds 0")
        self.assertEqual(filtered[13], "}  // namespace shunt")

    def test_undocumented(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "box.h").write_text(HEADER + "\nint alone();\n")
            members = "".join(
                f'<memberdef kind="function" prot="public"><name>{name}</name><briefdescription>{text}'
                f'</briefdescription><location file="box.h" line="{line}"/></memberdef>'
                for name, line, text in [("number", 8, "What it holds."), ("same", 9, ""), ("other", 12, ""),
                                         ("alone", 16, ""), ("operator=", 16, ""), ("size", 16, "")])
            (root / "x.xml").write_text('<doxygen><compounddef kind="class" prot="public"><compoundname>shunt::Box'
                                        f"</compoundname>{members}</compounddef></doxygen>")
            found = undocumented.Symbols(root, root).undocumented()
            self.assertEqual(sorted(found["box.h"]), ["shunt::Box::alone", "shunt::Box::other"])


if __name__ == "__main__":
    unittest.main()
