"""site.py ROOT OUT [--reference NAME TITLE]...: the project's pages as HTML in OUT, in the folders of ROOT.

README.md becomes index.html; every other page keeps its name. The menu has the groups of docs/README.md, which has to
list each page of docs/. Links to pages lead to their HTML; files that pages link are copied, a linked folder without a
page gets a list of its files. --reference adds OUT/reference/NAME/index.html, which other programs write, to the menu.
search_index.js has a record for each section of a page; add_symbols.py adds those of the references.
"""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pages

HERE = pathlib.Path(__file__).resolve().parent
CMARK = ["cmark-gfm", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tagfilter", "--unsafe",
         "--github-pre-lang"]
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
REFERENCE = re.compile(r"\b(href|src)=\"([^\"]*)\"")
FIRST = ["README.md", pages.INDEX]  # of the menu; the groups of docs/README.md follow, and the other pages as "More"
SKIPPED = re.compile(r"^(tests/|CHANGELOG\.md$)")  # of the menu's "More"


def target_of(page):
    """The HTML file of a page."""
    path = pathlib.PurePosixPath(page)
    return str(path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html"))


def relative(source, target):
    """A link from the file `source` to the file `target`, both below OUT."""
    up = "../" * source.count("/")
    return up + target


def link(target, title):
    return f'<a href="{html.escape(target)}">{html.escape(title)}</a>'


def title_of(page, text):
    found = pages.headings(text)
    return found[0][2] if found else page


class Site:
    def __init__(self, root, out, references):
        self.root, self.out, self.references = pathlib.Path(root).resolve(), pathlib.Path(out), references
        self.texts = {page: pages.read(self.root, page) for page in pages.all_pages(self.root)}
        self.groups = pages.groups(self.root)
        self.records = []

    def write(self):
        self.out.mkdir(parents=True, exist_ok=True)
        for name in ("style.css", "search.js"):
            shutil.copy(HERE / name, self.out / name)
        for page in self.texts:
            self.write_page(page)
        lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in self.records)
        (self.out / "search_index.js").write_text(f"const searchIndex = [\n{lines}\n];\n", encoding="utf-8")

    def write_page(self, page):
        text, file = self.texts[page], target_of(page)
        ran = subprocess.run(CMARK, input=text, capture_output=True, text=True, check=True)
        body = self.with_links(page, self.with_anchors(text, ran.stdout))
        self.write_html(file, title_of(page, text), body, page)
        self.add_records(page, text)

    def write_html(self, file, title, body, page=None):
        path = self.out / file
        path.parent.mkdir(parents=True, exist_ok=True)
        base = "../" * file.count("/")
        path.write_text(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)} - Shunt</title>
<link rel="stylesheet" href="{base}style.css">
</head>
<body data-base="{base}">
<nav>
{self.menu(file, page)}
</nav>
<main>
{body}
</main>
<script src="{base}search_index.js"></script>
<script src="{base}search.js"></script>
</body>
</html>
""", encoding="utf-8")

    def menu(self, file, current):
        """The search field and the links of the left column."""
        sections = {"Shunt": FIRST, **self.groups}
        listed = {page for section in sections.values() for page in section}
        sections["More"] = [page for page in self.texts if page not in listed and not SKIPPED.match(page)]
        parts = ['<input id="search" type="search" placeholder="Search" aria-label="Search"><ul id="found"></ul>']
        for name, listed in sections.items():
            items = [(target_of(page), title_of(page, self.texts[page]), page == current) for page in listed]
            parts.append(self.menu_section(file, name, items))
        items = [(f"reference/{name}/index.html", title, False) for name, title in self.references]
        return "\n".join(parts + ([self.menu_section(file, "Reference", items)] if items else []))

    def menu_section(self, file, name, items):
        links = [f'<li{" class=current" if here else ""}>{link(relative(file, target), title)}</li>'
                 for target, title, here in items]
        return "\n".join([f"<h2>{name}</h2>", "<ul>", *links, "</ul>"])

    def with_anchors(self, text, body):
        """GitHub's anchors for the headings, in their order."""
        found = iter(pages.headings(text))

        def replace(match):
            _, _, _, anchor = next(found)
            here = f'<a class="anchor" href="#{html.escape(anchor)}" aria-label="link to this section">#</a>'
            return f'<h{match[1]} id="{html.escape(anchor)}">{match[2]} {here}</h{match[1]}>'

        return HEADING.sub(replace, body)

    def with_links(self, page, body):
        folder = (self.root / page).parent

        def replace(match):
            written = html.unescape(match[2])
            path, separator, anchor = written.partition("#")
            if not path or re.match(r"^[a-z][a-z0-9+.-]*:", written):
                return match[0]
            linked = (folder / path).resolve()
            if not linked.exists() or not linked.is_relative_to(self.root):
                return match[0]  # the link check says so
            target = self.file_for(linked.relative_to(self.root).as_posix())
            return f'{match[1]}="{html.escape(relative(target_of(page), target) + separator + anchor)}"'

        return REFERENCE.sub(replace, body)

    def file_for(self, path):
        """The file below OUT for a linked file or folder of the repository; makes it where it isn't there."""
        if path in self.texts:
            return target_of(path)
        if (self.root / path).is_dir():
            readme = "README.md" if path == "." else f"{path}/README.md"
            return target_of(readme) if readme in self.texts else self.listing(path)
        copy = self.out / path
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / path, copy)
        return path

    def listing(self, path):
        file = f"{path}/index.html"
        if not (self.out / file).exists():
            names = sorted(child.relative_to(self.root).as_posix() for child in (self.root / path).iterdir()
                           if child.is_file() and not child.name.startswith("."))
            links = "\n".join(f"<li>{link(relative(file, self.file_for(name)), name)}</li>" for name in names)
            self.write_html(file, path, f"<h1>{html.escape(path)}</h1>\n<ul>\n{links}\n</ul>")
        return file

    def add_records(self, page, text):
        """A record of the search for each section: title, where, its words."""
        lines, found = text.split("\n"), pages.headings(text)
        ends = [line for line, *_ in found[1:]] + [len(lines) + 1]
        page_title = title_of(page, text)
        for (line, level, title, anchor), end in zip(found, ends):
            words = " ".join(" ".join(lines[line:end - 1]).split())
            where = target_of(page) + (f"#{anchor}" if level > 1 else "")
            self.records.append([title if level == 1 else f"{page_title}: {title}", where, words])


def main(root, out, *rest):
    errors = list(pages.errors_of_groups(root))
    if errors:
        sys.exit("\n".join(errors))
    references = [(rest[i + 1], rest[i + 2]) for i in range(0, len(rest), 3)]
    Site(root, out, references).write()


if __name__ == "__main__":
    main(*sys.argv[1:])
