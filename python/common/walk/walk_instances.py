"""How instances, tensors and classes are walked; see Note [Names decide] in walk.py."""

from __future__ import annotations

import types

from . import library, origin
from .guard import MISSING, type_lookup
from .place import MAX_DEPTH, Place
from .record import record

_TOO_DEEP = f"lies deeper than {MAX_DEPTH} attributes of plain objects; hold it nearer to the function, or in an nn.Module"

# Read by state_dict() and load_state_dict() alone.
_STATE_DICT_ATTRIBUTES = frozenset(
    {
        "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
        "_non_persistent_buffers_set",
    }
)  # fmt: skip
_MEMBERS = ("_parameters", "_buffers", "_modules")

# Entries of a class's dict that no computation reads.
_BORING = frozenset(
    {
        "__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__annotations__", "__firstlineno__",
        "__slots__",
        "__static_attributes__", "__parameters__", "__orig_bases__", "__abstractmethods__", "_abc_impl", "__annotate__",
        "__annotations_cache__", "__annotate_func__",
    }
)  # fmt: skip
_NAMES_OF_CLASSES = frozenset({"__name__", "__qualname__", "__bases__", "__mro__"})
_FUNCTIONS = (types.FunctionType, staticmethod, classmethod, property)


@record
class Shape:
    """What a walk looks at in the instances of a class."""

    names: set[str] | None  # None: all attributes
    slots: list[str]
    absent: list[str]  # names whose absence from the instance's dict matters


def shape_of(w, kind: type) -> Shape:
    shape = w.shapes.get(kind)
    if shape is None:
        shape = w.shapes[kind] = _make_shape(w, kind)
    return shape


def _make_shape(w, kind: type) -> Shape:
    seen = w.seen
    is_library = any(origin.of_class(b) == origin.LIBRARY for b in kind.__mro__)
    names = seen.all_names if is_library else seen.names
    slots, shadowed, on_class = [], set(), set()
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            if name in on_class:
                continue
            on_class.add(name)
            if isinstance(value, types.MemberDescriptorType):
                if (seen.reads_all or name in names) and base.__flags__ & (1 << 9):
                    slots.append(name)
            elif name in seen.names and not hasattr(type(value), "__set__"):
                shadowed.add(name)
    assigned = (seen.stored | seen.stored_in_self | seen.tested) - on_class
    return Shape(None if seen.reads_all else names, slots, sorted(shadowed | assigned))


def dict_of(value: object) -> dict | None:
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def walk_instance(w, value, place) -> None:
    """Any object but a module, optimiser or scheduler: the attributes that code names, to a depth."""
    kind = type(value)
    shape = shape_of(w, kind)
    attributes = dict_of(value)
    names = [n for n in attributes or () if shape.names is None or n in shape.names]
    _guard_class(w, value, place)
    if place.depth > MAX_DEPTH:
        if names or shape.slots:
            w.refuse(place, _TOO_DEEP)
            return
    inner = place._replace(depth=place.depth + 1)
    if attributes is not None:
        _walk_dict(w, value, attributes, names, shape, inner)
    for name in shape.slots:
        path = f"{place.path}.{name}"
        try:
            held = object.__getattribute__(value, name)
        except AttributeError:
            w.guard("attribute", value, name, MISSING, path)
            continue
        w.hold("attribute", value, name, held, path, inner._replace(path=path))


def walk_attributes(w, value, place) -> None:
    """Those that users gave to an object of a class that has others of its own."""
    shape, attributes = shape_of(w, type(value)), dict_of(value)
    names = [n for n in attributes or () if shape.names is None or n in shape.names]
    if attributes is not None:
        _walk_dict(w, value, attributes, names, shape, place._replace(depth=place.depth + 1))


def _guard_class(w, value, place) -> None:
    kind = type(value)
    if kind.__flags__ & (1 << 9):
        w.guard("attribute", value, "__class__", kind, f"{place.path}.__class__")
        w.visit(kind, place._replace(path=kind.__qualname__))


def _walk_dict(w, value, attributes: dict, names: list[str], shape: Shape, place) -> None:
    if not names and not shape.absent:
        return
    w.guard("attribute", value, "__dict__", attributes, f"{place.path}.__dict__")
    if shape.names is None:
        w.guard("keys", attributes, None, tuple(attributes), f"attributes of {place.path}")
    else:
        for name in shape.absent:
            if name not in attributes:
                w.guard("missing", attributes, name, None, f"{place.path}.{name}")
    for name in names:
        path = f"{place.path}.{name}"
        w.hold("item", attributes, name, attributes[name], path, place._replace(path=path))


def walk_logger(w, value, place) -> None:
    """A logger of logging: whether it logs. Its handlers are lists that count by length, since logging a message is
    refused: it reads the clock."""
    attributes = dict_of(value)
    _guard_class(w, value, place)
    w.guard("attribute", value, "__dict__", attributes, f"{place.path}.__dict__")
    named = [n for n in attributes if n in w.seen.names and n not in ("_cache", "manager")]
    for name in dict.fromkeys(("level", "disabled", "parent", *named)):
        path = f"{place.path}.{name}"
        held = attributes.get(name)
        if type(held) is list:
            w.guard("item", attributes, name, held, path)
            w.guard("length", held, None, len(held), f"len({path})")
        elif name in attributes:
            w.hold("item", attributes, name, held, path, place._replace(path=path))
    manager = value.manager
    w.guard("item", manager.__dict__, "_disable", manager.__dict__["_disable"], f"{place.path}.manager.disable")


def walk_exception(w, value, place) -> None:
    """What exceptions made in C keep: their arguments, of which their text is made, and more by class, as the number of
    an OSError."""
    for base in type(value).__mro__[:-1]:
        if not issubclass(base, BaseException) or base.__flags__ & (1 << 9):
            continue
        for name, descriptor in vars(base).items():
            is_kept = type(descriptor) is types.MemberDescriptorType or name == "args"
            if name == "__dict__" or not is_kept and (name not in w.seen.names
                                                      or type(descriptor) is not types.GetSetDescriptorType):
                continue
            path = f"{place.path}.{name}"
            try:
                held = descriptor.__get__(value)
            except AttributeError:
                held = MISSING
            w.hold("attribute", value, name, held, path, place._replace(path=path, depth=place.depth + 1))


def walk_enum(w, value, place) -> None:
    """A member of an enum: what it is, and the attributes that users gave it."""
    attributes = dict_of(value)
    if origin.of_class(type(value)) == origin.USER:
        _guard_members(w, value, attributes, place)
    w.visit(type(value), place._replace(path=type(value).__qualname__))


def _guard_members(w, value, attributes: dict, place) -> None:
    w.guard("attribute", value, "__dict__", attributes, f"{place.path}.__dict__")
    w.guard("keys", attributes, None, tuple(attributes), f"attributes of {place.path}")
    for name in list(attributes):
        if name != "__objclass__":
            path = f"{place.path}.{name}"
            w.hold("item", attributes, name, attributes[name], path, place._replace(path=path))


def walk_whole(w, value, place) -> None:
    """A module, optimiser or scheduler: all attributes, at any depth. Those that no code names needn't be walkable."""
    attributes = dict_of(value)
    all_names = w.seen.all_names
    _guard_class(w, value, place._replace(optional=False))
    w.guard("attribute", value, "__dict__", attributes, f"{place.path}.__dict__")
    w.guard("keys", attributes, None, tuple(attributes), f"attributes of {place.path}")
    for name, held in list(attributes.items()):
        if name in _STATE_DICT_ATTRIBUTES and name not in all_names:
            continue
        path = f"{place.path}.{name}"
        if name in _MEMBERS and type(held) is dict and library.is_module(value):
            w.guard("item", attributes, name, held, path)
        else:
            inner = place._replace(path=path, optional=name not in all_names and not w.seen.reads_all)
            w.hold("item", attributes, name, held, path, inner)
    instance_names = w.instance_names.setdefault(type(value), set())
    instance_names.update(attributes)
    if library.is_module(value):
        for name in _MEMBERS:
            if type(attributes.get(name)) is dict:
                _walk_members(w, attributes[name], name, place, instance_names)


def walk_instance_names(w) -> None:
    """What modules and optimisers have themselves, and code of the library's reads, their classes mustn't get: a
    property comes first."""
    for kind, names in w.instance_names.items():
        if kind.__flags__ & (1 << 9):
            lacking = sorted(n for n in names - w.class_names if type_lookup(kind, n) is MISSING)
            w.guard_grouped("plain", kind, "instances", tuple(lacking), f"attributes of {kind.__qualname__}")


def _walk_members(w, members: dict, kind: str, place, instance_names: set[str]) -> None:
    w.guard("keys", members, None, tuple(members), f"{place.path}.{kind}")
    instance_names.update(n for n in members if not n.isdigit())
    for name, member in members.items():
        path = f"{place.path}[{name}]" if name.isdigit() else f"{place.path}.{name}"
        w.hold("item", members, name, member, path, place._replace(path=path))


def walk_tensor(w, value, place) -> None:
    """A tensor is compared elsewhere; here only attributes that users have set, or code sets."""
    if id(value) not in w.tensor_ids:
        w.tensor_ids.add(id(value))
        w.result.tensors.append((place.path, value))
    kind = type(value)
    if kind not in library.TENSOR_CLASSES:
        w.visit(kind, place._replace(path=kind.__qualname__))
    attributes = dict_of(value)
    if attributes is None:
        return
    reads_all = w.seen.reads_all
    names = [n for n in attributes if reads_all or n in w.seen.names]
    absent = [n for n in w.tensor_absent if n not in attributes]
    if reads_all:
        w.guard("keys", attributes, None, tuple(attributes), f"attributes of {place.path}")
    if names or absent or reads_all:
        w.guard("attribute", value, "__dict__", attributes, f"{place.path}.__dict__")
        for name in absent:
            w.guard("missing", attributes, name, None, f"{place.path}.{name}")
    for name in names:
        path = f"{place.path}.{name}"
        inner = place._replace(path=path, depth=place.depth + 1)
        w.hold("item", attributes, name, attributes[name], path, inner)


def walk_class(w, kind, place) -> None:
    """A class of a user's or of the library's: what its MRO gives for each name that code mentions, and for special
    methods, and what it lacks of these."""
    whose = origin.of_class(kind)
    if not kind.__flags__ & (1 << 9):
        _check_methods(w, kind, place)
        return
    if whose == origin.STANDARD:
        return
    if origin.of_class(type(kind)) == origin.USER:
        w.visit(type(kind), place._replace(path=type(kind).__qualname__))
    if whose == origin.USER:
        for name in w.seen.names & _NAMES_OF_CLASSES:
            w.guard("attribute", kind, name, type.__getattribute__(kind, name), f"{kind.__qualname__}.{name}")
    names = w.class_names
    if issubclass(kind, library.Tensor):
        names = names - library.REPLACED
    boring = _BORING - w.seen.names
    done: set[str] = set()
    for base in kind.__mro__[:-1]:
        base_origin = origin.of_class(base)
        entries = vars(base)
        reads_all = w.seen.reads_all and base_origin == origin.USER
        if reads_all:
            w.guard("length", base, None, len(entries), f"the number of attributes of {base.__qualname__}")
        for name in [n for n in entries if n in names or reads_all]:
            if name in done or name in boring:
                continue
            done.add(name)
            _walk_class_entry(w, kind, base, name, entries[name], place, base_origin == origin.USER)
    lacking = names - done - boring
    # Those that all objects have, as `__eq__`, the class has from there.
    w.guard_grouped("plain", kind, None, tuple(sorted(lacking)), f"attributes of {kind.__qualname__}")


def _walk_class_entry(w, kind, base, name: str, value: object, place, is_user: bool) -> None:
    path = f"{base.__qualname__}.{name}"
    w.guard_grouped("type_attribute", kind, name, value, path)
    # A method that a user gave to others' class.
    is_patch = isinstance(value, types.FunctionType) and w.observed.has(value.__code__)
    if not (is_user or is_patch) or isinstance(value, types.MemberDescriptorType):
        return
    depth = place.depth if isinstance(value, _FUNCTIONS) else place.depth + 1
    w.visit(value, place._replace(path=path, depth=depth))


def _check_methods(w, kind, place) -> None:
    """Refuses methods of a class made in C that code reads as values, as in `iter(datetime.now, None)`: called
    unseen."""
    for name in w.seen.loaded & vars(kind).keys():
        if type(vars(kind)[name]) in (types.ClassMethodDescriptorType, staticmethod):
            w.visit(getattr(kind, name), place._replace(path=f"{kind.__qualname__}.{name}"))


def walk_tensor_classes(w) -> None:
    """The methods of tensors, which users may replace as well; but for those that recordings in other threads do."""
    for kind in library.TENSOR_CLASSES:
        walk_class(w, kind, Place(f"{library.PREFIX}.{kind.__name__}", 0, False))
