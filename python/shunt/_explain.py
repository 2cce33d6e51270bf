"""What explain() of a compiled function says."""

from shunt import _C

_MAX_EXPLAINED = 4000  # characters, nearly
_NO_VALUES = ("attributes of ", "keys of ")  # what is compared there


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
    if c._missed_last:
        lines += _last_miss(c, c._made_last)
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
            lines.append(f"    inputs of the graph for floats that took many values: {names}")
        lines += ["    " + with_line(line, c._facts[s][0]) for line in (s.explain() or "").splitlines()]
        if s.calls_without():
            lines.append(f"    {_calls(s.calls_without())} ran the function since then")
    if only_watched:
        variants = "1 variant was" if len(only_watched) == 1 else f"{len(only_watched)} variants were"
        lines.append(f"  {variants} watched, and not called again")
    for path, why in c._never_lifted.items():
        lines.append(f"  a variant for each value of {c._name_of(path)}, as no tensor can take its place: {why}")
    return lines


def _last_miss(c, made):
    if made is None or not made.counts()["recorded"]:
        return [f"  the last call that no variant fitted: {c._missed_last}"]
    # One that has inputs for what differed is for good.
    return [] if c._lifted_in(made) else [f"  the last variant was added as none fitted: {c._missed_last}"]


def why_full(c):
    """Why a call for which no variant fits gets none. Without the values, so that calls that differ in one place are
    counted together."""
    place, differs, _ = c._missed_last.partition(": expected ")
    if c._missed_last.startswith("expected "):
        differing = "for other arguments"
    elif not differs and not place.endswith(" was another one"):
        differing = f"that differ in {place}"
    else:
        place = c._name_of(place.removesuffix(" was another one"))
        differing = f"for other {place}" if place.startswith(_NO_VALUES) else f"for other values of {place}"
    return f"there are {len(c._specializations)} variants (max_variants) {differing}"


def advice_on(c):
    """What to do about that, where a value changes: sentences after a full stop."""
    place, differs, rest = c._missed_last.partition(": expected ")
    if not differs or place.startswith(_NO_VALUES):
        return ""
    text = f". No tensor can take its place: {c._never_lifted[place]}" if place in c._never_lifted else ""
    if c._missed_argument and not rest.startswith("a "):
        return f"{text}. Keep a number that changes from call to call in a tensor"
    return (f"{text}. Pass a number that changes from call to call as an argument, or keep it in a tensor, such as "
            "lr=shunt.tensor(0.1) of an optimizer")


def with_line(text, observed):
    """What C++ says of a recording, with the line of the user's code where Python can find it."""
    for phrase, finds in _FOUND_BY.items():
        before, found, after = text.partition(phrase)
        if found and (line := finds(after, observed)):
            return f"{before}{line}: {found}{after}"
    return text


def _line_of_class(name_after, observed):
    """Where the forward() of a custom function is, whose node's name follows."""
    import linecache
    name = name_after.partition(",")[0].removesuffix("Backward")

    def lines_in(code):
        kind = getattr(code, "co_qualname", "").removesuffix(".forward").rpartition(".")[2]
        if code.co_name == "forward" and kind == name:
            line = code.co_firstlineno
            while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
                line += 1
            yield line
    return _first(observed, lines_in)


def _line_of_change(_, observed):
    """Where the function's code changes whether tensors require grad."""
    import dis
    names = ("requires_grad_", "detach_")

    def lines_in(code):
        line = code.co_firstlineno
        for i in dis.get_instructions(code):
            line = i.starts_line if type(i.starts_line) is int else getattr(i, "line_number", None) or line
            if i.argval in names or i.opname == "STORE_ATTR" and i.argval == "requires_grad":
                yield line
    return _first(observed, lines_in)


def _first(observed, lines_in):
    from shunt._walk.refusal import line_of
    return next((line_of(code.co_filename, line) for code, _ in observed.user_codes() for line in lines_in(code)), "")


_FOUND_BY = {
    "the history of a result goes on through the custom autograd function ": _line_of_class,
    "the function changes whether a tensor that it is given requires grad": _line_of_change,
}


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
