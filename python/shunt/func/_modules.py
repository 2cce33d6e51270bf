"""functional_call: a module called with parameters and buffers that are given to it."""



def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with other tensors in the place of its parameters and buffers, which it has again afterwards.

    Args:
        parameter_and_buffer_dicts: tensors by the names that named_parameters() and named_buffers() give, or several
        such
            dicts, of which no two may have a name in common.
        args: the positional arguments, a tuple; or one argument.
        tie_weights: a tensor that stands for one name of a parameter stands for its other names, too.
        strict: all parameters and buffers have to be given, and no other names.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = dict(parameter_and_buffer_dicts)
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        given = {}
        for part in parameter_and_buffer_dicts:
            if not isinstance(part, dict):
                raise ValueError(f"functional_call: expected dicts of tensors, got a {type(part).__name__} among them")
            for name in part:
                if name in given:
                    raise ValueError(f"functional_call: {name} is in multiple dictionaries: expected each name once")
            given.update(part)
    else:
        raise ValueError("functional_call: expected a dict of tensors, or a list or tuple of such, got "
                         f"{type(parameter_and_buffer_dicts).__name__}")
    places = _places(module)
    if strict:
        unknown, missing = sorted(given.keys() - places.keys()), sorted(places.keys() - given.keys())
        if unknown or missing:
            raise RuntimeError(f"functional_call: strict: {type(module).__name__}: unexpected names {unknown}, "
                               f"missing {missing}")
    if tie_weights:
        _tie(places, given)
    saved = []
    try:
        for name, value in given.items():
            if name not in places:
                from shunt._near_names import did_you_mean
                raise AttributeError(
                    f"functional_call: expected names of tensors of {type(module).__name__}, got {name!r}"
                    f"{did_you_mean(name, places)}"
                )
            holder, key = places[name]
            saved.append((holder, key, holder[key]))
            holder[key] = value
        return module(*(() if args is None else args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for holder, key, value in reversed(saved):
            holder[key] = value


def _places(module, prefix=""):
    """(dict, key) by name of all parameters and buffers."""
    found = {}
    for holder in (module._parameters, module._buffers):
        for key, value in holder.items():
            if value is not None:
                found[prefix + key] = holder, key
    for key, child in module._modules.items():
        if child is not None:
            found.update(_places(child, f"{prefix}{key}."))
    return found


def _tie(places, given):
    by_id = {}
    for name, (holder, key) in places.items():
        by_id.setdefault(id(holder[key]), []).append(name)
    for names in by_id.values():
        values = [given[n] for n in names if n in given]
        if not values:
            continue
        if any(v is not values[0] for v in values):
            raise ValueError(f"functional_call: {names} are tied, one tensor, and were given several: expected one, or "
                             "tie_weights=False")
        given.update({n: values[0] for n in names})


def stack_module_state(models):
    """Parameters and buffers of several modules of one structure, each stacked along a new first dimension: two dicts
    by name, for vmap over functional_call()."""
    from shunt import stack
    if len(models) == 0:
        raise RuntimeError("stack_module_state: expected one module at least, got none")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: expected modules of one class")
    parameters, buffers = {}, {}
    for name in dict(models[0].named_parameters()):
        rows = [dict(m.named_parameters())[name] for m in models]
        parameters[name] = stack([r.detach() for r in rows]).requires_grad_(rows[0].requires_grad)
    for name in dict(models[0].named_buffers()):
        buffers[name] = stack([dict(m.named_buffers())[name] for m in models])
    return parameters, buffers
