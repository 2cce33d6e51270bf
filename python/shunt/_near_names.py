"""Names that are written nearly like one that isn't there."""

_hints = {}  # by whose name it is and the name: programs ask again and again whether something is there


def near_names(name, known, most=3):
    """Those of `known` that a misspelt name may mean, the nearest first."""
    from difflib import get_close_matches
    return get_close_matches(name, [other for other in dict.fromkeys(known) if not other.startswith("_")], most, 0.75)


def did_you_mean(name, known):
    """The end of a message, "; did you mean 'a' or 'b'?"; empty where no name is near."""
    near = near_names(name, known)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def no_attribute(whose, name, known):
    """The AttributeError for a name that isn't there, with those that are near."""
    hint = _hints.get((whose, name))
    if hint is None:
        hint = did_you_mean(name, known) if not name.startswith("_") else ""
        if len(_hints) < 1000:
            _hints[whose, name] = hint
    return AttributeError(f"{whose} has no attribute '{name}'{hint}")
