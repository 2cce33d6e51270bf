"""Nested containers as a list of leaves and a description of their form.

Lists, tuples, named tuples, dictionaries, OrderedDict, defaultdict and deque are containers; classes of a program are
registered by register_pytree_node(). Everything else, None too, is a leaf.
"""

from collections import OrderedDict, defaultdict, deque

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_structure", "tree_unflatten"
]

PyTree = object


class TreeSpec:
    """The form of a container: its type, what its class says besides (`context`), and the forms of its children."""

    __slots__ = ("type", "context", "children_specs", "num_leaves", "num_nodes", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)

    def is_leaf(self):
        return self.type is None

    def children(self):
        return list(self.children_specs)

    def child(self, index):
        return self.children_specs[index]

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """The subtrees of `tree` that stand where this form has leaves."""
        out = []
        _flatten_up_to(tree, self, out)
        return out

    def __eq__(self, other):
        return (isinstance(other, TreeSpec) and self.type is other.type and self.context == other.context and
                self.children_specs == other.children_specs)

    def __hash__(self):
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self):
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


class LeafSpec(TreeSpec):
    """The form of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


_LEAF = LeafSpec()
_registry = {}


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Makes a class a container.

    Args:
        flatten_fn: object -> (list of children, context).
        unflatten_fn: (children, context) -> object.

    A ValueError where the class is one already.
    """
    if cls in _registry:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registry[cls] = (flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _sorted_items(d):
    return list(d.values()), list(d.keys())


def _from_dict(values, keys):
    return dict(zip(keys, values))


_registry[tuple] = (lambda t: (list(t), None), lambda values, _: tuple(values), None)
_registry[list] = (lambda t: (t, None), lambda values, _: list(values), None)
_registry[dict] = (_sorted_items, _from_dict, None)
_registry[OrderedDict] = (_sorted_items, lambda values, keys: OrderedDict(zip(keys, values)), None)
_registry[defaultdict] = (lambda d: (list(d.values()), [d.default_factory, list(d.keys())]),
                          lambda values, context: defaultdict(context[0], zip(context[1], values)), None)
_registry[deque] = (lambda d: (list(d), d.maxlen), lambda values, maxlen: deque(values, maxlen=maxlen), None)


class _NamedTuple:
    """Stands for named tuples of any class in the registry."""


class _StructSequence:
    """Stands for results with names, such as those of max(dim)."""


_registry[_NamedTuple] = (lambda t: (list(t), type(t)), lambda values, cls: cls(*values), None)
_registry[_StructSequence] = (lambda t: (list(t), type(t)), lambda values, cls: cls(tuple(values)), None)


def _node_type(tree):
    cls = type(tree)
    if cls in _registry:
        return cls
    if isinstance(tree, tuple):
        if hasattr(cls, "_fields"):
            return _NamedTuple
        if hasattr(cls, "n_sequence_fields"):
            return _StructSequence
    return None


def _is_leaf(tree, is_leaf=None):
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) is None


def _flatten(tree, leaves, is_leaf):
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    node = _node_type(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = _registry[node][0](tree)
    return TreeSpec(node, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """The leaves of a container, in order, and its form. `is_leaf(node)` may declare containers leaves."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    return _registry[spec.type][1]([_unflatten(leaves, c) for c in spec.children_specs], spec.context)


def tree_unflatten(leaves, treespec):
    """The container of this form with these leaves. A ValueError where their number is another."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of "
                        f"type {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a "
                         f"pytree that holds {treespec.num_leaves} items ({treespec}).")
    return _unflatten(iter(leaves), treespec)


def tree_iter(tree, is_leaf=None):
    """The leaves of a container, one after the other."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree, is_leaf=None):
    """The leaves of a container, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The form of a container."""
    return tree_flatten(tree, is_leaf)[1]


def _flatten_up_to(tree, spec, out):
    if spec.type is None:
        out.append(tree)
        return
    node = _node_type(tree)
    if node is not spec.type:
        raise ValueError(f"Type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, context = _registry[node][0](tree)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if node in (dict, OrderedDict):
        if set(context) != set(spec.context):
            raise ValueError(f"Node keys mismatch; expected {spec.context}, but got {context}.")
        children = [tree[k] for k in spec.context]
    elif context != spec.context:
        raise ValueError(f"Node context mismatch for node type {spec.type!r}.")
    for c, s in zip(children, spec.children_specs):
        _flatten_up_to(c, s, out)


def tree_map(func, tree, *rests, is_leaf=None):
    """The container with func(leaf, leaves of the same place in the other containers...) in the place of each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others)], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func for each leaf, and returns the container as it is."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    for each in zip(leaves, *others):
        func(*each)
    return tree


def _predicate(type_or_types_or_pred):
    if isinstance(type_or_types_or_pred, (type, tuple)) or not callable(type_or_types_or_pred):
        return lambda x: isinstance(x, type_or_types_or_pred)
    return type_or_types_or_pred


def map_only(type_or_types_or_pred):
    """Decorates a function, so that it leaves values of other types as they are."""
    fits = _predicate(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if fits(x) else x


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """As tree_map, for leaves of the type, of one of the types, or for which the predicate holds."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """As tree_map_, for leaves of the type."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """Whether pred holds for all leaves of the type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """Whether pred holds for any leaf of the type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _flatten_with_path(tree, path, out, is_leaf):
    if _is_leaf(tree, is_leaf):
        out.append((path, tree))
        return
    node = _node_type(tree)
    children, context = _registry[node][0](tree)
    keys = context if node in (dict, OrderedDict) else context[1] if node is defaultdict else range(len(children))
    for key, child in zip(keys, children):
        _flatten_with_path(child, (*path, key), out, is_leaf)


def tree_flatten_with_path(tree, is_leaf=None):
    """The leaves, each with the tuple of keys and indices that lead to it, and the form."""
    out = []
    _flatten_with_path(tree, (), out, is_leaf)
    return out, tree_structure(tree, is_leaf)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """A container whose leaves stand for whole subtrees of a form, as one value for each of the form's leaves; None
    where it doesn't fit."""
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _node_type(tree) is not treespec.type:
        return None
    children, context = _registry[treespec.type][0](tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    out = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        out += flat
    return out
