"""Names that are written nearly like one that isn't there."""


def near_names(name, known, most=3):
    """Those of `known` that a misspelt name may mean, the nearest first."""
    from difflib import get_close_matches
    return get_close_matches(name, [other for other in known if not other.startswith("_")], most, 0.75)


def no_attribute(whose, name, known):
    """The AttributeError for a name that isn't there, with those that are near."""
    near = near_names(name, known) if not name.startswith("__") else []
    hint = f"; did you mean {' or '.join(repr(other) for other in near)}?" if near else ""
    return AttributeError(f"{whose} has no attribute '{name}'{hint}")
