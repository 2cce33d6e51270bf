"""Runs commands of pages, and compares what blocks print with the output that the page shows."""

import os
import pathlib
import re
import subprocess

import commands

FILE_NAME = re.compile(r"^(?:#|//) ([\w.-]+\.[a-z]+)\n")


def output_of(block, found, build=None):
    """The block that shows what `block` prints, None where the page doesn't show it, or not what this build prints."""
    shown = next((other for other in found if other.is_output and other.follows is block), None)
    without_compiler = build and not (pathlib.Path(build) / "lib" / "libshunt_jit.so").exists()
    return None if shown and "compiler" in shown.words and without_compiler else shown


def matches(expected, printed):
    """Whether the output is the expected one, in which `...` is any text of a line, and a line of it any lines."""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def difference(block, shown, printed):
    """What to say where a block prints something else than its page shows, None where it doesn't."""
    if shown is None or matches(shown.text, printed):
        return None
    return f"{block.place}: prints\n{printed}\nand the page shows at {shown.place}\n{shown.text}"


def write_named_file(block, folder):
    """A block whose first line is a comment with just a file's name is that file, too. Returns the file, or None."""
    match = FILE_NAME.match(block.text)
    if not match:
        return None
    file = pathlib.Path(folder) / match[1]
    file.write_text(block.text, encoding="utf-8")
    return file


def prepare(folder, build):
    """An empty folder with bin and lib of the build."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib"):
        (folder / name).symlink_to(pathlib.Path(build).resolve() / name)


def run(command, folder, path=""):
    """Returns (status, output); what it writes to stderr is part of the output of a command that fails."""
    environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"])
    shell = ["bash", "-e", "-o", "pipefail", "-c", command]
    ran = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stdout + (ran.stderr if ran.returncode else "")


def run_commands(block, shown, folder, listed, path="", with_python=True):
    """Runs the commands of a sh block that run here; returns an error's text or None. Output is compared if all ran."""
    printed, whole = "", True
    for line, command in commands.commands(block):
        if commands.key(command) in listed or (commands.needs_python(command) and not with_python):
            whole = False
            continue
        status, text = run(command, folder, path)
        if status:
            return f"{block.page}:{line}: {command}: status {status}\n{text}"
        printed += text
    return difference(block, shown, printed) if whole else None
