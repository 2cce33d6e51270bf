"""Nested containers ("pytrees") as flat lists of their leaves, with PyTorch's names (torch.utils._pytree).

    leaves, spec = tree_flatten({"w": w, "b": [b1, b2]})       # [w, b1, b2]
    again = tree_unflatten([x * 2 for x in leaves], spec)      # of the same structure

Containers are tuples, lists, dicts, OrderedDicts, defaultdicts, deques, named tuples, results of operators with several
results (shunt.return_types), and classes that register_pytree_node() names. Everything else is a leaf, None, too. A
dict's leaves are in the order of its keys' insertion.
"""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

__all__ = [
    "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SUPPORTED_NODES", "SequenceKey", "TreeSpec", "key_get", "keystr",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_flatten_with_path",
    "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_with_path",
    "tree_structure", "tree_unflatten",
]

PyTree = object

# What paths are made of.
SequenceKey = namedtuple("SequenceKey", ["idx"])
SequenceKey.__str__ = lambda self: f"[{self.idx!r}]"
SequenceKey.get = lambda self, sequence: sequence[self.idx]
MappingKey = namedtuple("MappingKey", ["key"])
MappingKey.__str__ = lambda self: f"[{self.key!r}]"
MappingKey.get = lambda self, mapping: mapping[self.key]
GetAttrKey = namedtuple("GetAttrKey", ["name"])
GetAttrKey.__str__ = lambda self: f".{self.name}"
GetAttrKey.get = lambda self, obj: getattr(obj, self.name)

NodeDef = namedtuple("NodeDef", ["type", "flatten_fn", "unflatten_fn", "names_fn"])
NodeDef.__doc__ = "How objects of a class are taken apart: into children and a context."

SUPPORTED_NODES = {}  # by class; derived classes aren't meant


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Makes objects of exactly this class containers.

    Args:
        cls: the class.
        flatten_fn: takes an object; returns its children, a list, and a context that compares by ==.
        unflatten_fn: takes children and context; returns an object.
        flatten_with_keys_fn: as flatten_fn, with (key, child) in the place of each child; for tree_flatten_with_path.
        serialized_type_name, to_dumpable_context, from_dumpable_context: accepted, and not used.
    Raises ValueError where the class is one already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node(): expected a class that is not registered, got {cls}")
    names = None if flatten_with_keys_fn is None else lambda x: [key for key, _ in flatten_with_keys_fn(x)[0]]
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, names)


def _deregister_pytree_node(cls):
    """Makes objects of the class leaves again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes objects of a dataclass containers of their fields.

    Args:
        field_names: the fields that are children; all by default.
        drop_field_names: fields that are left out, and have their defaults afterwards.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass: expected a dataclass, got {cls}")
    dropped = set(drop_field_names or ())
    names = [f.name for f in dataclasses.fields(cls) if f.init
             and f.name not in dropped] if field_names is None else list(field_names)

    def flatten(x):
        return [getattr(x, name) for name in names], None

    def unflatten(children, context):
        return cls(**dict(zip(names, children)))

    register_pytree_node(cls, flatten, unflatten,
                         flatten_with_keys_fn=lambda x: (list(zip(map(GetAttrKey, names), flatten(x)[0])), None))


def _items(mapping):
    return [(MappingKey(key), value) for key, value in mapping.items()], None


register_pytree_node(tuple, lambda x: (list(x), None), lambda children, context: tuple(children))
register_pytree_node(list, lambda x: (x, None), lambda children, context: list(children))
register_pytree_node(dict, lambda x: (list(x.values()), list(x)), lambda children,
                     context: dict(zip(context, children)),
                     flatten_with_keys_fn=_items)
register_pytree_node(OrderedDict, lambda x: (list(x.values()), list(x)), lambda children,
                     context: OrderedDict(zip(context, children)),
                     flatten_with_keys_fn=_items)
register_pytree_node(defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]),
                     lambda children, context: defaultdict(context[0], zip(context[1], children)),
                     flatten_with_keys_fn=_items)
register_pytree_node(deque, lambda x: (list(x), x.maxlen), lambda children, context: deque(children, maxlen=context))

_NAMED = NodeDef(namedtuple, lambda x: (list(x), type(x)), lambda children, context: context(*children),
                 lambda x: list(map(GetAttrKey, x._fields)))
_STRUCTURE = NodeDef(namedtuple, lambda x: (list(x), type(x)), lambda children, context: context(children), None)


def is_namedtuple_class(kind):
    """Whether a class is one that collections.namedtuple or typing.NamedTuple makes, or derives from one."""
    return issubclass(kind, tuple) and kind is not tuple and isinstance(getattr(kind, "_fields", None),
                                                                        tuple) and hasattr(kind, "_make")


def is_namedtuple_instance(x):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(x))


def is_structseq_class(kind):
    """Whether a class is one of shunt.return_types, or made as these."""
    return issubclass(kind, tuple) and kind is not tuple and isinstance(getattr(kind, "n_sequence_fields", None), int)


def _node_of(kind):
    """The NodeDef of a class; None for leaves."""
    found = SUPPORTED_NODES.get(kind)
    if found is not None or not issubclass(kind, tuple):
        return found
    return _NAMED if is_namedtuple_class(kind) else _STRUCTURE if is_structseq_class(kind) else None


class TreeSpec:
    """The structure of a tree: the class and context of each container. Specs compare by ==."""

    __slots__ = ("type", "context", "children_specs", "num_nodes", "num_leaves", "num_children", "_node")

    def __init__(self, type, context, children_specs, node=None):
        self.type, self.context, self.children_specs, self._node = type, context, children_specs, node
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_children = len(children_specs)

    def is_leaf(self):
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self):
        """The specs of the children."""
        return list(self.children_specs)

    def child(self, index):
        """The spec of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves):
        """The tree with these leaves; ValueError for another number of them."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"tree_unflatten: the structure holds {self.num_leaves} leaves, got {len(leaves)}: {self}")
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves):
        if self.type is None:
            return next(leaves)
        return self._node.unflatten_fn([c._unflatten(leaves) for c in self.children_specs], self.context)

    def flatten_up_to(self, tree):
        """The parts of a tree that stand where this spec has leaves; ValueError where its structure is another one
        above them."""
        parts = []
        self._flatten_up_to(tree, parts)
        return parts

    def _flatten_up_to(self, tree, parts):
        if self.type is None:
            parts.append(tree)
            return
        node = _node_of(type(tree))
        if node is None or node.type is not self.type:
            raise ValueError(f"tree_map: expected a {self._type_name()} in this place, got {type(tree).__name__}")
        children, context = node.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"tree_map: expected {self.num_children} children in a {self._type_name()}, got "
                             f"{len(children)}")
        if isinstance(self.context, list) and self.type in (dict, OrderedDict) and set(context) == set(self.context):
            children, context = [tree[key] for key in self.context], self.context
        if context != self.context:
            raise ValueError(f"tree_map: expected a {self._type_name()} with {self.context}, got {context}")
        for spec, child in zip(self.children_specs, children):
            spec._flatten_up_to(child, parts)

    def _type_name(self):
        return repr(self.context if self.type is namedtuple else self.type)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type is other.type and self.context == other.context and self.children_specs == other.children_specs

    def __hash__(self):
        return hash((self.type, self.num_nodes, self.num_leaves))

    def __repr__(self):
        if self.type is None:
            return "*"
        name = self.context.__name__ if self.type is namedtuple else self.type.__name__
        context = "" if self.type in (tuple, list, namedtuple) else f"{self.context}, "
        return f"TreeSpec({name}, {context}[{', '.join(map(repr, self.children_specs))}])"


def LeafSpec():
    """The spec of a tree that is a leaf."""
    return _LEAF


_LEAF = TreeSpec(None, None, [])


def tree_flatten(tree, is_leaf=None):
    """Leaves, as a list, and structure.

    Args:
        is_leaf: takes a container, and says whether it counts as a leaf.
    """
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind) or _node_of(kind)
    if node is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children], node)


def tree_unflatten(leaves, treespec):
    """The tree of this structure with these leaves; ValueError for another number of them."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: treespec: expected a TreeSpec, got {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """Iterates over the leaves."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree, is_leaf=None):
    """The leaves, as a list."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The structure, a TreeSpec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, *parts) in the place of each leaf; `parts` are what `rests` have there."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*args) for args in zip(leaves, *others)])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func(leaf, *parts) for each leaf and returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for args in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*args)
    return tree


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map() for leaves of a class, of classes, or of which a function says True; others stay."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map_() for such leaves."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def _only(what, func):
    is_wanted = (lambda x: isinstance(x, what)) if isinstance(what, (type, tuple)) else what
    return lambda x: func(x) if is_wanted(x) else x


def tree_all(pred, tree, is_leaf=None):
    """Whether a function says True of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a function says True of any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_flatten_with_path(tree, is_leaf=None):
    """A list of (path, leaf), and the structure. A path is a tuple of SequenceKey, MappingKey and GetAttrKey."""
    found = []

    def visit(x, path):
        node = _node_of(type(x))
        if node is None or is_leaf is not None and is_leaf(x):
            found.append((path, x))
            return
        children, _ = node.flatten_fn(x)
        keys = node.names_fn(x) if node.names_fn is not None else map(SequenceKey, range(len(children)))
        for key, child in zip(keys, children):
            visit(child, (*path, key))

    visit(tree, ())
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """A list of (path, leaf)."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map() with func(path, leaf, *parts)."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*pair, *parts) for pair, *parts in zip(pairs, *others)])


def keystr(kp):
    """A path as text: "['a'][0].name"."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What is at a path of a tree."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree spread over a structure that has more below them; None where it doesn't fit.

    One leaf stands for all that the structure has in its place: what in_dims and out_dims are given as.
    """
    node = _node_of(type(tree))
    if treespec.is_leaf():
        return [tree] if node is None or is_leaf is not None and is_leaf(tree) else None
    if node is None or is_leaf is not None and is_leaf(tree):
        return [tree] * treespec.num_leaves
    if node.type is not treespec.type:
        return None
    children, context = node.flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        parts += flat
    return parts
