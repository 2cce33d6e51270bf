"""What explain() of a compiled function says."""

from shunt import _C

_MAX_EXPLAINED = 4000  # characters, nearly


def text_of(compiled):
    """The text of Compiled.explain()."""
    c = compiled
    lines = [f"{c._name}:"]
    if not _C._is_compile_on():
        lines.append("  SHUNT_COMPILE=0: all calls run the function")
    if c._calls_off:
        lines.append(f"  {_calls(c._calls_off)} ran the function without a look at the arguments")
    if c._given_up:
        lines.append(f"  runs without a graph: {c._given_up}")
    lines += _variants(c)
    if c._past.get("eager"):
        lines.append(f"  {_calls(c._past['eager'])} ran the function, and changed what it reads: {c._changed}")
    lines += [f"  {_calls(count)} ran the function: {why}" for why, count in c._without.items()]
    made = c._made_last
    if c._missed_last and (made is None or not made.counts()["recorded"]):
        lines.append(f"  the last call that no variant fitted: {c._missed_last}")
    if len(lines) == 1:
        lines.append("  not called yet")
    return "\n".join(_within(lines, _MAX_EXPLAINED))


def _variants(c):
    lines = []
    only_watched = [s for s in c._specializations if c._facts[s][2] is None and not _has_calls(s)]
    for n, s in enumerate(s for s in c._specializations if s not in only_watched):
        why = c._facts[s][2]
        lines.append(f"  variant {n}: {s.num_guards()} guards of Python's state" if why is None else
                     f"  variant {n}: runs without a graph: {why}")
        if lifted := c._lifted_in(s):
            names = ", ".join(dict.fromkeys(map(c._name_of, lifted)))
            lines.append(f"    any value of {names}, which took many: an input of the graph")
        lines += ["    " + line for line in (s.explain() or "").splitlines()]
        if s.calls_without():
            lines.append(f"    {_calls(s.calls_without())} ran the function since then")
    if only_watched:
        variants = "1 variant was" if len(only_watched) == 1 else f"{len(only_watched)} variants were"
        lines.append(f"  {variants} watched, and not called again")
    for path, why in c._never_lifted.items():
        lines.append(f"  a variant for each value of {c._name_of(path)}, as no tensor can take its place: {why}")
    return lines


def _has_calls(specialization):
    counts = specialization.counts()
    return counts["hits"] + counts["eager"] > 0


def name_of(path, function):
    """How the function's code names what is at a path: an argument, a closure or a global."""
    if path.startswith(("closure ", "global ")):
        return path.partition(" of ")[0].rpartition(" ")[2]
    if not path.startswith("args["):
        return path
    place, _, rest = path[len("args["):].partition("]")
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    at = int(place) + hasattr(function, "__func__")
    return code.co_varnames[at] + rest if code is not None and at < code.co_argcount else path


def _calls(count):
    return "1 call" if count == 1 else f"{count} calls"


def _within(lines, limit):
    """The lines, long ones cut, and without those in the middle that are too many."""
    lines = [line if len(line) <= 400 else line[:397] + "..." for line in lines]
    if sum(map(len, lines)) <= limit:
        return lines
    first, last = [], []
    while lines and sum(map(len, first)) + len(lines[0]) <= limit * 2 // 3:
        first.append(lines.pop(0))
    while lines and sum(map(len, last)) + len(lines[-1]) <= limit // 3:
        last.insert(0, lines.pop())
    return [*first, f"  ... {len(lines)} more lines", *last]
