"""The sh blocks of pages: their commands, and which test runs those that can't run here (commands.txt)."""

import pathlib
import re

RUN_HERE = ("bin/shunt", "python3 -m shunt")
FILE = pathlib.Path(__file__).parent / "commands.txt"


def without_comment(line):
    """The line up to a # that begins a word outside of quotes."""
    quote = None
    for i, char in enumerate(line):
        if quote:
            quote = None if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (i == 0 or line[i - 1].isspace()):
            return line[:i]
    return line


def commands(block):
    """(line, command) of each command of a block; a backslash at the end of a line continues it."""
    found, begun, text = [], None, ""
    for number, line in enumerate(block.text.split("\n"), block.line):
        line = without_comment(line).rstrip()
        begun = begun or number
        if line.endswith("\\"):
            text += line[:-1] + " "
            continue
        text = (text + line).strip()
        if text:
            found.append((begun, text))
        begun, text = None, ""
    return found


def runs_here(command):
    """Whether a test runs the command itself; variables may be set before it."""
    bare = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command)
    return any(bare == start or bare.startswith(start + " ") for start in RUN_HERE)


def needs_python(command):
    return "python3 " in command


def key(command):
    """The command as commands.txt has it: with single spaces."""
    return " ".join(command.split())


def listed(file=FILE):
    """key of a command -> (test, line) of commands.txt."""
    found = {}
    for number, line in enumerate(pathlib.Path(file).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        test, separator, command = line.partition(": ")
        if not separator:
            raise ValueError(f"{file}:{number}: expected '<test>: <command>', got '{line}'")
        found[key(command)] = (test, number)
    return found
