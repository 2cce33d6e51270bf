"""doxygen_filter.py HEADER: prints the header as Doxygen reads comments; lines keep their numbers.

Shunt's headers have few marks for Doxygen. Here the comment at a header's head becomes the file's, and that of the
class that it names (`// Tensor: a handle ...`); one in front of a declaration or behind it becomes the declaration's.
"""

import re
import sys

COMMENT = re.compile(r"^(\s*)//(?!/)( .*)$")
TRAILING = re.compile(r"^(\s*\S.*?[;,{}\w)>])(\s{1,})//(?!/)( .*)$")
HEAD = re.compile(r"^// (\w+)(?:<[^>]*>)?: (.*)$")
NO_DECLARATION = re.compile(r"^\s*(?:[}#]|(?:class|struct) \w+;|(?:public|protected|private):)")
CLASS = re.compile(r"^\s*(?:class|struct)\s+(?:SHUNT_API\s+)?(\w+)\b[^;]*$")


def head_length(lines):
    return next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))


def with_head(lines):
    """The head becomes the comment of the file: @file stands where `#pragma once` does."""
    end = head_length(lines)
    if end == len(lines) or lines[end] != "#pragma once":
        return lines
    return ["/" + line for line in lines[:end]] + ["/// @file"] + lines[end + 1:]


def subject_of(lines):
    """The class that the head is about, and what it says of it up to the first empty line."""
    match = HEAD.match(lines[0]) if lines else None
    if not match:
        return None, ""
    text = [match[2]]
    for line in lines[1:head_length(lines)]:
        if line == "//":
            break
        text.append(line[2:].strip())
    text = " ".join(text)
    return match[1], text[0].upper() + text[1:]


def with_class_comment(lines, subject, text):
    for i, line in enumerate(lines):
        match = CLASS.match(line)
        if match and match[1] == subject:
            first = i - 1 if lines[i - 1].startswith("template") else i
            if not lines[first - 1].lstrip().startswith("//"):
                lines[first] = f"/** {text} */ {lines[first]}"
            break
    return lines


def with_marks(lines):
    """Comments in front of declarations get a third slash, those behind them and their further lines `///<`."""
    result, column = [], None
    for line in lines:
        comment, trailing = COMMENT.match(line), TRAILING.match(line)
        if comment and column is not None and len(comment[1]) + 2 >= column:
            result.append(f"{comment[1]}///<{comment[2]}")
        elif comment:
            result.append(f"{comment[1]}///{comment[2]}")
            column = None
        elif trailing and not NO_DECLARATION.match(line):
            column = len(trailing[1]) + len(trailing[2])
            result.append(f"{trailing[1]}{trailing[2]}///<{trailing[3]}")
        else:
            result.append(line)
            column = None
    return result


def filtered(text):
    lines = text.split("\n")
    subject, about = subject_of(lines)
    lines = with_head(lines)
    if subject:
        lines = with_class_comment(lines, subject, about)
    return "\n".join(with_marks(lines))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(filtered(header.read()))
