"""add_symbols.py OUT: adds the symbols of the C++ and Python references below OUT to the index of the search."""

import html
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

PYTHON_SYMBOL = re.compile(r"<(?:section|div) id=\"([\w.]+)\"")


def of_cpp(tags, folder):
    """[name, link, signature] of each class, function, macro and type in Doxygen's tag file."""
    compounds = list(xml.etree.ElementTree.parse(tags).getroot())
    for compound in sorted(compounds, key=lambda compound: compound.get("kind") == "file"):  # names with scope first
        kind, scope = compound.get("kind"), compound.findtext("name")
        if kind in ("class", "struct", "namespace"):
            yield [scope, f"{folder}/{compound.findtext('filename')}", f"{kind} {scope}"]
        if kind not in ("class", "struct", "namespace", "file"):
            continue
        for member in compound.findall("member"):
            if member.get("protection") in ("private", "protected"):
                continue
            name = member.findtext("name")
            full = name if kind == "file" else f"{scope}::{name}"
            words = f"{member.findtext('type') or ''} {name}{member.findtext('arglist') or ''}"
            yield [full, f"{folder}/{member.findtext('anchorfile')}#{member.findtext('anchor')}", words.strip()]


def of_python(folder, out):
    """[name, link, ""] of each symbol that a page of pdoc's has an element for."""
    for file in sorted(folder.rglob("*.html")):
        module = ".".join(file.relative_to(folder).with_suffix("").parts)
        if module in ("index", "search"):
            continue
        where = file.relative_to(out).as_posix()
        yield [module, where, f"module {module}"]
        for name in dict.fromkeys(PYTHON_SYMBOL.findall(file.read_text(encoding="utf-8"))):
            yield [f"{module}.{html.unescape(name)}", f"{where}#{name}", ""]


def main(out):
    out = pathlib.Path(out)
    records, seen = [], set()
    tags = out / "reference" / "shunt.tag"
    if tags.exists():
        records += of_cpp(tags, "reference/cpp")
        tags.unlink()
    records += of_python(out / "reference" / "python", out)
    records = [record for record in records if not (record[1] in seen or seen.add(record[1]))]
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    with (out / "search_index.js").open("a", encoding="utf-8") as index:
        index.write(f"searchIndex.push(\n{lines}\n);\n" if lines else "")
    print(f"{len(records)} symbols in the search")


if __name__ == "__main__":
    main(sys.argv[1])
