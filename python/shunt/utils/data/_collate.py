"""What makes a batch of examples."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

from shunt._tensor import Tensor


def _like(container, items, changed):
    """A container of the same type with other items; plain where the type can't be made so."""
    try:
        if not changed:
            return type(container)(items)
        # What else it has (a defaultdict's function, say) is kept so.
        made = copy.copy(container)
        for key, value in items.items() if isinstance(items, dict) else enumerate(items):
            made[key] = value
        return made
    except TypeError:
        return items


def default_collate(batch):
    """A batch of examples as one: tensors are stacked, numbers become tensors, containers are taken apart and keep
    their type, but for tuples, which become lists."""
    from shunt import float64, stack, tensor

    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if type(first).__module__ == "numpy":
        from shunt import as_tensor

        return stack([as_tensor(value) for value in batch], 0)
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        items = {key: default_collate([example[key] for example in batch]) for key in first}
        return _like(first, items, isinstance(first, MutableMapping))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(values) for values in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError(
                f"default_collate(): expected examples of one length, got {[len(example) for example in batch]}"
            )
        items = [default_collate(values) for values in zip(*batch)]
        return items if isinstance(first, tuple) else _like(first, items, isinstance(first, MutableSequence))
    raise TypeError(
        "default_collate(): expected examples of tensors, NumPy arrays, numbers, strings, dicts or lists, got "
        f"{type(first).__name__}"
    )


def default_convert(data):
    """NumPy arrays in containers as tensors; others as they are. What a DataLoader without batches does with
    examples."""
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy":
        from shunt import as_tensor

        return data if type(data).__name__ == "ndarray" and data.dtype.kind in "SaUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(value) for value in data]
    return data
