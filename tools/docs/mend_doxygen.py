"""mend_doxygen.py FOLDER: links to members that Doxygen leaves out, hidden friends, lead to the page alone."""

import pathlib
import re
import sys

import check_html

LINK = re.compile(r"href=\"([^\"#]*)#([^\"]+)\"")


def main(folder):
    folder = pathlib.Path(folder)
    anchors = {file.name: check_html.parsed(file)[1] for file in folder.glob("*.html")}
    for file in folder.glob("*.html"):

        def replace(match, name=file.name):
            target = match[1] or name
            missing = target in anchors and match[2] not in anchors[target]
            return f'href="{target}"' if missing else match[0]

        text = file.read_text(encoding="utf-8", errors="replace")
        mended = LINK.sub(replace, text)
        if mended != text:
            file.write_text(mended, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
