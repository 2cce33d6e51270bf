"""undocumented.py XML HEADERS LIST [--write]: public symbols without a comment, by its XML, are those of LIST.

A symbol has a comment if it has one, an overload of it in its scope has, or the declaration above it without an empty
line between the two: a run of declarations shares the comment at its top. Data right below the head of a class share
the class's. These need none: constructors, destructors, operators, friends, specialisations, and the names that the
standard gives to members of containers and iterators.

LIST only shrinks: a new symbol gets a comment, and one that got a comment is removed from the list, by --write as well.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

STANDARD = set(
    "begin end cbegin cend rbegin rend size empty data front back at clear reserve resize push_back pop_back "
    "emplace_back insert erase find contains swap get reset release value_type key_type mapped_type size_type "
    "difference_type reference const_reference pointer const_pointer iterator const_iterator reverse_iterator "
    "const_reverse_iterator iterator_category type value max_size capacity assign hash".split())
KINDS = {"function", "variable", "typedef", "enum", "define"}


def is_described(element):
    return any("".join(part.itertext()).strip() for tag in ("briefdescription", "detaileddescription")
               for part in element.findall(tag))


def line_of(element):
    place = element.find("location")
    return (place.get("file"), int(place.get("line"))) if place is not None else (None, 0)


class Symbols:
    def __init__(self, xml_folder, headers):
        self.headers = pathlib.Path(headers)
        self.lines = {}
        self.found = []  # (scope, name, file, line, is described, is data)
        for file in sorted(pathlib.Path(xml_folder).glob("*.xml")):
            if not file.name.startswith(("index", "dir_", "md_")):
                self.read(xml.etree.ElementTree.parse(file).getroot().find("compounddef"))

    def read(self, compound):
        if compound is None or compound.get("prot") in ("private", "protected"):
            return
        scope = compound.findtext("compoundname")
        if "detail" in scope.split("::"):
            return
        if compound.get("kind") in ("class", "struct", "union"):
            self.found.append(("", scope, *line_of(compound), is_described(compound), False))
        if compound.get("kind") == "file":
            return
        for member in compound.iter("memberdef"):
            if member.get("prot") == "public" and member.get("kind") in KINDS:
                is_data = member.get("kind") == "variable"
                self.found.append((scope, member.findtext("name"), *line_of(member), is_described(member), is_data))

    def needs_none(self, scope, name):
        last = re.sub(r"<.*", "", scope).split("::")[-1]
        return (name.lstrip("~") == last or name.startswith(("operator", "@", "std::")) or name in STANDARD or
                "<" in name or "<" in scope or  # specialisations have the comments of their template
                name.endswith(("Error", "_")))  # inherited constructors, private members of unions

    def text(self, file):
        if file not in self.lines:
            path = self.headers / file if not pathlib.Path(file).is_absolute() else pathlib.Path(file)
            self.lines[file] = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        return self.lines[file]

    def shares_comment(self, file, line, is_data):
        """Whether the run of lines of the declaration begins with a comment, or for data with a class that has one."""
        lines = self.text(file)
        if is_data and lines and lines[line - 1].lstrip().startswith("}"):
            return True  # it is of a struct that stands here, and has its comment
        for i in range(line - 1, 0, -1):
            above = lines[i - 1].strip()
            if above.startswith("//"):
                return True
            if is_data and re.match(r"(struct|class)\b.*{$", above):
                return lines[i - 2].strip().startswith("//")
            if not above or re.match(r"(public|private|protected):|.*[{]$|[}]", above):
                return False
        return False

    def undocumented(self):
        described = {(scope, name) for scope, name, file, line, has, is_data in self.found
                     if has or (file and self.shares_comment(file, line, is_data))}
        missing = collections.defaultdict(set)
        for scope, name, file, *_ in self.found:
            if (scope, name) not in described and file is not None and not self.needs_none(scope, name):
                missing[file.rpartition("include/")[2]].add(f"{scope}::{name}" if scope else name)
        return missing


def listed(file):
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def write(file, names):
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    head = [line for line in lines if line.startswith("#")]
    file.write_text("\n".join(head + sorted(names)) + "\n", encoding="utf-8")


def main(xml_folder, headers, file, *options):
    file = pathlib.Path(file)
    missing = Symbols(xml_folder, headers).undocumented()
    names = {f"{header}: {name}" for header, found in missing.items() for name in found}
    known = listed(file)
    if "--write" in options:
        write(file, names & known if known else names)
        known = listed(file)
    errors = [f"{name} has no comment" for name in sorted(names - known)]
    errors += [f"{name} has a comment now, or is gone: remove it from {file.name}" for name in sorted(known - names)]
    print("\n".join(errors + [f"{len(names)} public symbols without a comment, {len(known)} of them listed"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
