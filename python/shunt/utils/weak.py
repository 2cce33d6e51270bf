"""Weak references to tensors, and dictionaries whose keys are, compared by identity: `==` of tensors is elementwise."""

import weakref
from collections.abc import MutableMapping

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object, and hashes by it."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        """The object; None where it is gone."""
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        # Of what is gone only the reference itself is known.
        return self is other if mine is None or others is None else mine is others

    def __ne__(self, other):
        return not self == other


class TensorWeakRef:
    """A weak reference to a tensor. AssertionError for other objects."""

    def __init__(self, tensor):
        from shunt import Tensor
        assert isinstance(tensor, Tensor), f"TensorWeakRef(): expected a Tensor, got {type(tensor).__name__}"
        self.ref = weakref.ref(tensor)

    def __call__(self):
        """The tensor; None where it is gone."""
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary by identity of its keys, which it doesn't keep: an entry goes with its key."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._forget())] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def _forget(self):
        own = weakref.ref(self)

        def forget(reference):
            dictionary = own()
            if dictionary is not None:
                dictionary.data.pop(reference, None)

        return forget

    def __iter__(self):
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self):
        return sum(reference() is not None for reference in list(self.data))

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary
