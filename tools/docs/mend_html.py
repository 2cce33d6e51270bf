"""mend_html.py FOLDER: links of a generated reference to what its generator leaves out lead to the page alone.

Doxygen links friends that it hides, pdoc modules and classes that it is told to leave out.
"""

import html
import pathlib
import re
import sys
import urllib.parse

import check_html

LINK = re.compile(r"\bhref=\"([^\":?#]*)(#[^\"]*)?\"")


def main(folder):
    folder = pathlib.Path(folder).resolve()
    anchors = {file: check_html.parsed(file)[1] for file in folder.rglob("*.html")}
    for file in anchors:

        def replace(match, file=file):
            target = (file.parent / urllib.parse.unquote(match[1])).resolve() if match[1] else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                return 'href="#"'
            anchor = urllib.parse.unquote(html.unescape((match[2] or "#")[1:]))
            missing = anchor and target in anchors and anchor not in anchors[target]
            return f'href="{match[1] or file.name}"' if missing else match[0]

        text = file.read_text(encoding="utf-8", errors="replace")
        mended = LINK.sub(replace, text)
        if mended != text:
            file.write_text(mended, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
