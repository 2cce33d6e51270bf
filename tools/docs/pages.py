"""The project's pages as data: blocks of code, headings with their anchors, links. Used by tests/docs and docs/build.

Reads Markdown as GitHub shows it, as far as the pages use it: fenced blocks, ATX headings, inline and reference links.
"""

import dataclasses
import pathlib
import re
import unicodedata

FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^`]*)$")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"
                  r"\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.M)
HTML_LINK = re.compile(r"\b(?:href|src)=\"([^\"]+)\"")
HTML_ANCHOR = re.compile(r"<[a-z]+ [^>]*\b(?:id|name)=\"([^\"]+)\"")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$")
INDEX = "docs/README.md"
OUTSIDE = {"build", ".git", ".cache"}  # of the repository's root


@dataclasses.dataclass
class Block:
    """A fenced block. `follows` is the block before it where only empty lines stand between the two."""

    page: str
    line: int  # of its first line of text
    language: str
    words: list
    text: str
    follows: "Block | None" = None

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def is_program(self):
        return self.language == "cpp" and re.search(r"\bint\s+main\s*\(", self.text) is not None

    @property
    def is_output(self):
        return self.language == "text" and "output" in self.words


def read(root, page):
    return (pathlib.Path(root) / page).read_text(encoding="utf-8")


def documented_pages(root):
    """README.md and the pages of docs/, whose blocks are compiled or run."""
    root = pathlib.Path(root)
    return ["README.md"] + sorted(f"docs/{path.name}" for path in (root / "docs").glob("*.md"))


def all_pages(root):
    """Every .md file of the project, as paths below root."""
    root = pathlib.Path(root)
    found = []
    for path in root.rglob("*.md"):
        parts = path.relative_to(root).parts
        if parts[0] not in OUTSIDE:
            found.append("/".join(parts))
    return sorted(found)


def groups(root):
    """The pages by topic: {heading: [page]}, from docs/README.md: a table of each section, with a page in each row."""
    root = pathlib.Path(root).resolve()
    text = read(root, INDEX)
    sections = [(line, title) for line, level, title, _ in headings(text) if level == 2]
    found = {title: [] for _, title in sections}
    rows = {}  # the first link of each row
    lines = text.split("\n")
    for line, target in links(text):
        if lines[line - 1].startswith("|"):
            rows.setdefault(line, target)
    for line, target in rows.items():
        page = (root / INDEX).parent / target.partition("#")[0]
        title = next((title for begin, title in reversed(sections) if begin < line), None)
        if title is None:
            raise SystemExit(f"{INDEX}:{line}: a table of pages before the first section")
        found[title].append(page.resolve().relative_to(root).as_posix())
    return found


def errors_of_groups(root):
    """What is wrong with docs/README.md: it lists each page of docs/ once, and nothing but pages."""
    listed = [page for group in groups(root).values() for page in group]
    for page in listed:
        if page not in all_pages(root):
            yield f"{INDEX}: {page} is no page"
    for page in documented_pages(root)[1:]:
        if page != INDEX and listed.count(page) != 1:
            yield f"{INDEX}: {page} is {'listed twice' if page in listed else 'not listed'}"


def _fenced(lines):
    """Yields (number, line, fence, is_fence): fence matches the block's opening line, and is None outside of blocks."""
    fence = None
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                fence = match
                yield number, line, fence, True
            else:
                yield number, line, None, False
        elif match and match[2].startswith(fence[2]) and not match[3].strip():
            yield number, line, fence, True
            fence = None
        else:
            yield number, line, fence, False


def blocks(page, text):
    """The fenced blocks of a page, in their order."""
    found, current, last, gap = [], None, None, True
    for number, line, fence, is_fence in _fenced(text.split("\n")):
        if is_fence and current is None:
            language, *words = fence[3].split() or [""]
            current = Block(page, number + 1, language, words, "", None if gap else last)
        elif is_fence:
            found.append(current)
            current, last, gap = None, current, False
        elif current is not None:
            indent = len(fence[1])
            current.text += (line[indent:] if not line[:indent].strip() else line) + "\n"
        elif line.strip():
            gap = True
    if current is not None:
        raise ValueError(f"{current.place}: the block that begins here has no end")
    return found


def prose(text):
    """The page without its blocks: their lines are empty."""
    return "\n".join("" if fence is not None else line for _, line, fence, _ in _fenced(text.split("\n")))


def _spans_replaced(text, replacement):
    """Code spans end within a paragraph; `replacement` maps a match to what stands in its place."""
    return "\n\n".join(CODE_SPAN.sub(replacement, paragraph) for paragraph in re.split(r"\n\n", text))


def code_spans(text):
    """(line, text) of each code span."""
    found, line = [], 1
    for paragraph in prose(text).split("\n\n"):
        for match in CODE_SPAN.finditer(paragraph):
            found.append((line + paragraph[:match.start()].count("\n"), " ".join(match[2].split())))
        line += paragraph.count("\n") + 2
    return found


def links(text):
    """(line, target) of each link."""
    plain = _spans_replaced(prose(text), lambda match: re.sub(r"[^\n]", "x", match[0]))
    found = []
    for pattern, group in ((LINK, 2), (REFERENCE, 1), (HTML_LINK, 1)):
        for match in pattern.finditer(plain):
            found.append((plain.count("\n", 0, match.start()) + 1, match[group]))
    for match in LINK.finditer(plain):  # an image that is a link's text
        for inner in LINK.finditer(match[1]):
            found.append((plain.count("\n", 0, match.start()) + 1, inner[2]))
    return sorted(found)


def heading_text(markdown):
    """A heading as it is read: links become their texts, marks of code and emphasis are left out."""
    spans = []

    def keep(match):
        spans.append(match[2])
        return f"\0{len(spans) - 1}\0"

    text = CODE_SPAN.sub(keep, markdown)
    text = LINK.sub(lambda match: match[1], text)
    text = re.sub(r"<[^>]+>", "", text)
    text = re.sub(r"\*+", "", text)
    text = re.sub(r"(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)", "", text)
    return re.sub(r"\0(\d+)\0", lambda match: spans[int(match[1])], text).strip()


def slug(heading):
    """GitHub's anchor: lower case; letters, digits, marks, hyphens and underscores stay, spaces become hyphens."""
    kept = []
    for char in heading.lower():
        if char == " ":
            kept.append("-")
        elif char in "-_" or unicodedata.category(char)[0] in "LNM" or unicodedata.category(char) == "Pc":
            kept.append(char)
    return "".join(kept)


def headings(text):
    """(line, level, text, anchor) of each heading. A repeated anchor gets -1, -2, ..."""
    found, used = [], {}
    for number, line in enumerate(prose(text).split("\n"), 1):
        match = HEADING.match(line)
        if not match:
            continue
        title = heading_text(match[1])
        anchor = slug(title)
        count = used.get(anchor, 0)
        used[anchor] = count + 1
        level = len(line.strip()) - len(line.strip().lstrip("#"))
        found.append((number, level, title, f"{anchor}-{count}" if count else anchor))
    return found


def anchors(text):
    """All anchors of a page: its headings' and those written as HTML."""
    return {anchor for *_, anchor in headings(text)} | set(HTML_ANCHOR.findall(prose(text)))
