"""The classes of several results with names, by the functions that return them: return_types.max."""

from shunt import _C


def _made_here(name):
    """Of a function that the package makes of others."""
    from shunt._composites import reductions, scans, sets
    if name == "histogram":
        return sets._histogram_result()
    return next((getattr(m, f"{name}_result") for m in (reductions, scans) if hasattr(m, f"{name}_result")), None)


def __getattr__(name):
    found = None if name.startswith("_") else _made_here(name) or _C._result_type(name)
    if found is None:
        import sys
        from shunt._near_names import no_name
        raise no_name("shunt.return_types", name, (), sys._getframe(1), __file__)
    globals()[name] = found
    return found
