"""Nested containers as lists of leaves: shunt.utils._pytree, beside PyTorch's where that is installed."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import shunt
from shunt.utils import _pytree as pytree

Point = namedtuple("Point", ["x", "y"])

TREES = [
    3, None, (), [], {}, (1, 2), [1, (2, [3, None])], {"b": 1, "a": (2, {"c": 3})}, OrderedDict([("z", 1), ("y", [2])]),
    deque([1, (2,)], maxlen=4), Point(1, Point(2, [3])), {"t": (Point(x={"k": 1}, y=()), 5)},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_what_is_flattened_comes_back(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(again))
    assert spec.num_leaves == len(leaves) == len(list(pytree.tree_iter(tree)))


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaves_come_in_the_order_of_pytorch(tree):
    torch_pytree = pytest.importorskip("torch.utils._pytree")
    leaves, spec = torch_pytree.tree_flatten(tree)
    mine, my_spec = pytree.tree_flatten(tree)
    assert mine == leaves
    assert (my_spec.num_nodes, my_spec.num_leaves, my_spec.num_children) == (spec.num_nodes, spec.num_leaves,
                                                                             spec.num_children)


def test_a_default_dict_keeps_its_factory():
    tree = defaultdict(list, a=1)
    again = pytree.tree_map(lambda x: x + 1, tree)
    assert again == {"a": 2} and again.default_factory is list


def test_results_of_operators_are_containers():
    result = shunt.arange(6).reshape(2, 3).max(1)
    leaves, spec = pytree.tree_flatten(result)
    assert len(leaves) == 2
    again = pytree.tree_unflatten(leaves, spec)
    assert type(again) is type(result) and again.values is result.values


def test_specs_compare_by_structure():
    one, two, three = (pytree.tree_structure(t) for t in ([1, 2], [3, 4], (3, 4)))
    assert one == two and one != three and one != pytree.tree_structure([1, [2]])
    assert pytree.tree_structure({"a": 1}) != pytree.tree_structure({"b": 1})
    assert pytree.tree_structure(5) == pytree.LeafSpec() and pytree.LeafSpec().is_leaf()


def test_maps_take_further_trees():
    assert pytree.tree_map(lambda a, b: a + b, {"a": [1, 2]}, {"a": [10, 20]}) == {"a": [11, 22]}
    assert pytree.tree_map(lambda a, b: (a, b), [1], [(5, 6)]) == [(1, (5, 6))]
    with pytest.raises(ValueError, match="children"):
        pytree.tree_map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(ValueError, match="expected a"):
        pytree.tree_map(lambda a, b: a, [1, 2], (1, 2))
    with pytest.raises(ValueError, match="with"):
        pytree.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_maps_of_one_class_leave_others():
    tree = [1, "a", {"b": 2.0}]
    assert pytree.tree_map_only(int, lambda x: -x, tree) == [-1, "a", {"b": 2.0}]
    assert pytree.tree_map_only((int, float), lambda x: -x, tree) == [-1, "a", {"b": -2.0}]
    assert pytree.tree_map_only(lambda x: x == "a", lambda x: x * 2, tree) == [1, "aa", {"b": 2.0}]
    assert pytree.tree_all(lambda x: x, tree) and not pytree.tree_any(lambda x: x is None, tree)


def test_a_tree_may_end_early():
    leaves, spec = pytree.tree_flatten([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple))
    assert leaves == [(1, 2), 3] and spec.num_leaves == 2


def test_a_wrong_number_of_leaves_is_an_error():
    with pytest.raises(ValueError, match="holds 2 leaves"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="TreeSpec"):
        pytree.tree_unflatten([1], [1])


class Pair:
    def __init__(self, a, b, tag):
        self.a, self.b, self.tag = a, b, tag


def test_classes_can_be_registered_once():
    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], p.tag), lambda c, tag: Pair(*c, tag))
    try:
        again = pytree.tree_map(lambda x: x * 2, Pair(1, [2], "t"))
        assert (again.a, again.b, again.tag) == (2, [4], "t")
        with pytest.raises(ValueError, match="registered"):
            pytree.register_pytree_node(Pair, lambda p: ([], None), lambda c, _: None)
    finally:
        pytree._deregister_pytree_node(Pair)
    assert pytree.tree_structure(Pair(1, 2, 3)).is_leaf()


@dataclasses.dataclass
class State:
    position: object
    velocity: object
    name: str = "s"


def test_dataclasses_can_be_registered():
    pytree.register_dataclass(State, drop_field_names=["name"])
    try:
        leaves, spec = pytree.tree_flatten(State(1, [2]))
        assert leaves == [1, 2] and pytree.tree_unflatten([3, 4], spec) == State(3, [4])
        k, position = pytree.MappingKey("k"), pytree.GetAttrKey("position")
        second = k, pytree.GetAttrKey("velocity"), pytree.SequenceKey(0)
        assert pytree.tree_flatten_with_path({"k": State(1, [2])})[0] == [((k, position), 1), (second, 2)]
    finally:
        pytree._deregister_pytree_node(State)
    with pytest.raises(TypeError):
        pytree.register_dataclass(Pair)


def test_a_leaf_stands_for_what_is_below():
    spec = pytree.tree_structure((1, [2, 3], {"a": 4}))
    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0, 0]
    assert pytree._broadcast_to_and_flatten((0, 1, None), spec) == [0, 1, 1, None]
    assert pytree._broadcast_to_and_flatten((0, [1, 2], {"a": 3}), spec) == [0, 1, 2, 3]
    assert pytree._broadcast_to_and_flatten((0, 1), spec) is None
    assert pytree._broadcast_to_and_flatten((0, [1], 2), spec) is None
