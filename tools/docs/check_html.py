"""check_html.py OUT: every link of the HTML files below OUT leads to a file there, and every anchor to an element."""

import html
import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r"<[a-zA-Z][^>]*?\s(?:href|src|xlink:href)\s*=\s*\"([^\"]*)\"")
ANCHOR = re.compile(r"<[a-zA-Z][^>]*?\s(?:id|name)\s*=\s*\"([^\"]+)\"")
SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>|<!--.*?-->", re.S)


def parsed(file):
    """Returns the links and the anchors of a file."""
    text = file.read_text(encoding="utf-8", errors="replace")
    sources = [match[1] for match in re.finditer(r"<script\b[^>]*\bsrc=\"([^\"]*)\"", text)]
    text = SCRIPT.sub("", text)
    return sources + LINK.findall(text), {html.unescape(anchor) for anchor in ANCHOR.findall(text)}


def errors_below(out):
    out = pathlib.Path(out).resolve()
    files = {file: parsed(file) for file in out.rglob("*.html")}
    for file, (links, anchors) in files.items():
        for link in sorted(set(links)):
            link = html.unescape(link)
            if re.match(r"^([a-z][a-z0-9+.-]*:|//)", link):
                continue
            path, _, anchor = link.partition("#")
            path, anchor = urllib.parse.unquote(path.partition("?")[0]), urllib.parse.unquote(anchor)
            target = (file.parent / path).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{file.relative_to(out)}: link {link}: there is no such file"
            elif anchor and target in files and anchor not in files[target][1] | {"top"}:
                yield f"{file.relative_to(out)}: link {link}: there is no such anchor"


def main(out):
    errors = sorted(errors_below(out))
    count = sum(1 for _ in pathlib.Path(out).rglob("*.html"))
    print("\n".join(errors[:200] + [f"{count} HTML files, {len(errors)} broken links"]))
    return 1 if errors or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
