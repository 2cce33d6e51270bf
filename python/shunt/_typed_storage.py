"""TypedStorage: what tensor.storage() returns, for programs that ask it of addresses and sizes."""


class TypedStorage:
    """The memory of a tensor as elements of its dtype."""

    def __init__(self, tensor):
        self.dtype, self.device, self._untyped = tensor.dtype, tensor.device, tensor.untyped_storage()

    def _elements(self):
        from shunt import _C

        return _C._tensor_over_storage(self._untyped, 0, (len(self),), (1,), self.dtype)

    def untyped(self):
        """The memory as bytes."""
        return self._untyped

    def data_ptr(self):
        """The address."""
        return self._untyped.data_ptr()

    def nbytes(self):
        """How many bytes there are."""
        return self._untyped.nbytes()

    def element_size(self):
        """How many bytes an element has."""
        return self.dtype.itemsize

    def size(self):
        """How many elements there are."""
        return len(self)

    def __len__(self):
        return self._untyped.nbytes() // self.dtype.itemsize

    def __getitem__(self, index):
        result = self._elements()[index]
        return result.item() if isinstance(index, int) else result.storage()

    def __setitem__(self, index, value):
        self._elements()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as a list."""
        return self._elements().tolist()

    def fill_(self, value):
        """Writes a number to all elements."""
        self._elements().fill_(value)
        return self
