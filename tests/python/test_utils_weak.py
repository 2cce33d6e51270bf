"""shunt.utils.weak: references to tensors that don't keep them."""

import gc

import shunt
from shunt.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef


def test_entries_go_with_their_keys():
    x, y = shunt.ones(2), shunt.ones(2)
    sizes = WeakIdKeyDictionary({x: 1})
    sizes[y] = 2
    assert sizes[x] == 1 and x in sizes and shunt.ones(2) not in sizes and 3 not in sizes
    sizes[x] = 5
    assert len(sizes) == 2 and [value for _, value in sizes.items()] == [5, 2]
    del x
    gc.collect()
    assert len(sizes) == 1 and [key is y for key in sizes] == [True]
    del sizes[y]
    assert len(sizes) == 0


def test_references_are_equal_by_identity():
    x, y = shunt.ones(2), shunt.ones(2)
    one = WeakIdRef(x)
    assert one == WeakIdRef(x) and hash(one) == hash(WeakIdRef(x)) and one != WeakIdRef(y)
    weak = TensorWeakRef(x)
    assert weak() is x
    del x
    gc.collect()
    assert weak() is None and one() is None and one == one and one != WeakIdRef(y)
