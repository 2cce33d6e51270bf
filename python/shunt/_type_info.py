"""What numbers of a dtype can be: finfo, iinfo, result_type."""

from shunt import _C

# Of IEEE's formats and bfloat16: bits of the exponent and of the fraction, and decimal digits.
_FLOATS = {_C.float16: (5, 10, 3), _C.bfloat16: (8, 7, 2), _C.float32: (8, 23, 6), _C.float64: (11, 52, 15)}


class finfo:
    """finfo(dtype=None)

    The limits of a floating-point dtype, by default the default one: `bits`, `eps`, `max`, `min`, `tiny`,
    `smallest_normal`, `resolution`. TypeError for other dtypes.
    """

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        if dtype is float:
            dtype = _C.float64
        if dtype not in _FLOATS:
            raise TypeError(f"finfo(): expected a floating-point dtype, got {dtype}; iinfo() takes those of integers")
        exponent_bits, fraction_bits, digits = _FLOATS[dtype]
        bias = 2 ** (exponent_bits - 1) - 1
        self.bits = 1 + exponent_bits + fraction_bits
        self.eps = 2.0 ** -fraction_bits
        self.max = (2.0 - self.eps) * 2.0 ** bias
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - bias)
        self.resolution = 10.0 ** -digits
        self.dtype = str(dtype).split(".")[1]

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """iinfo(dtype)

    The limits of an integer dtype: `bits`, `max`, `min`. TypeError for other dtypes.
    """

    def __init__(self, type):
        dtype = _C.int64 if type is int else type
        if dtype is _C.bool or dtype is bool:
            raise TypeError("iinfo(): expected an integer dtype, got bool")
        if not isinstance(dtype, _C.dtype) or dtype.is_floating_point or dtype.is_complex:
            raise TypeError(f"iinfo(): expected an integer dtype, got {dtype}; finfo() takes those of floats")
        self.bits = 8 * dtype.itemsize
        self.min = -2 ** (self.bits - 1) if dtype.is_signed else 0
        self.max = 2 ** (self.bits - 1 if dtype.is_signed else self.bits) - 1
        self.dtype = str(dtype).split(".")[1]

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _kind(dtype):
    return 0 if dtype is _C.bool else 2 if dtype.is_floating_point else 1


def _of_number(value):
    if isinstance(value, bool):
        return _C.bool
    if isinstance(value, int):
        return _C.int64
    if isinstance(value, float):
        return _C.get_default_dtype()
    raise TypeError(f"result_type(): expected Tensor or Number, got {type(value).__name__}")


def result_type(tensor1, tensor2):
    """The dtype of a result of both: tensors, or numbers of Python's. Tensors of no dimensions count only where they
    are of a higher kind (bool, int, float) than the others, and numbers where they are higher still."""
    ranks = [None, None, None]  # tensors with dimensions, without, numbers
    for operand in (tensor1, tensor2):
        is_tensor = isinstance(operand, _C.TensorBase)
        rank = 2 if not is_tensor else 1 if operand.dim() == 0 else 0
        dtype = operand.dtype if is_tensor else _of_number(operand)
        ranks[rank] = dtype if ranks[rank] is None else _C.promote_types(ranks[rank], dtype)
    result = None
    for dtype in ranks:
        if dtype is not None and (result is None or _kind(dtype) > _kind(result)):
            result = dtype
    return result
