"""pickle, copy and deepcopy of tensors, storages and generators."""

import copyreg

from shunt import _C
from shunt.autograd import no_grad


def _rebuild_storage(content):
    return _C.UntypedStorage._from_buffer(content)


def _reduce_storage(storage):
    return _rebuild_storage, (bytes(storage),)


def _rebuild_tensor(storage, offset, size, stride, dtype, requires_grad):
    tensor = _C._tensor_over_storage(storage, offset, tuple(size), tuple(stride), dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor(size, stride, dtype, requires_grad):
    from shunt import empty_strided
    return empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_as_class(cls, tensor):
    requires_grad = tensor.requires_grad
    return _C._alias_of_class(tensor.detach(), cls).requires_grad_(requires_grad)


def _rebuild_generator(device, state):
    generator = _C.Generator(device)
    return generator.set_state(_C.tensor(list(state), dtype=_C.uint8))


def _reduce_generator(generator):
    return _rebuild_generator, (str(generator.device), bytes(generator.get_state().tolist()))


copyreg.pickle(_C.UntypedStorage, _reduce_storage)
copyreg.pickle(_C.Generator, _reduce_generator)


def _state(tensor):
    """The attributes, as pickle takes them: a dictionary, or with slots a pair; None without any."""
    attributes = tensor.__dict__
    slots = {name: getattr(tensor, name) for name in copyreg._slotnames(type(tensor)) if hasattr(tensor, name)}
    if slots:
        return attributes or None, slots
    return attributes or None


def reduce_tensor(tensor):
    """What pickle needs to make a tensor again. Tensors that share memory in one pickle share it again, as their
    storage is one object; one with a history becomes a leaf."""
    from shunt import Tensor
    requires_grad = tensor.requires_grad
    if tensor.is_meta:
        made = _rebuild_meta_tensor, (tuple(tensor.shape), tensor.stride(), tensor.dtype, requires_grad)
    else:
        made = _rebuild_tensor, (tensor.untyped_storage(), tensor.storage_offset(), tuple(tensor.shape),
                                 tensor.stride(), tensor.dtype, requires_grad)
    cls = type(tensor)
    if cls is not Tensor:
        made = _rebuild_as_class, (cls, made[0](*made[1]))
    state = _state(tensor)
    return made if state is None else (*made, state)


def _copy_storage(storage, memo):
    if id(storage) not in memo:
        memo[id(storage)] = storage.clone()
        memo.setdefault(id(memo), []).append(storage)  # its address stays its own while the memo is used
    return memo[id(storage)]


def _deep_alias(tensor, memo):
    """A tensor with the same place in a copy of its storage."""
    if tensor.is_meta:
        return _rebuild_meta_tensor(tuple(tensor.shape), tensor.stride(), tensor.dtype, False)
    if _C._wrapper_text(tensor) is not None:
        return tensor.clone()
    return _C._tensor_over_storage(_copy_storage(tensor.untyped_storage(), memo), tensor.storage_offset(),
                                   tuple(tensor.shape), tensor.stride(), tensor.dtype)


def _deepcopy_wrapper(tensor, memo):
    with no_grad():
        result = tensor.clone()
    if type(result) is not type(tensor):
        raise RuntimeError(f"__deepcopy__(): clone() of the class {type(tensor).__name__}, whose tensors have no data "
                           f"of their own, has to return one of that class, and returned a {type(result).__name__}")
    memo[id(tensor)] = result
    return result.requires_grad_() if tensor.requires_grad else result


def deepcopy_tensor(tensor, memo):
    """copy.deepcopy(tensor): elements, gradient and attributes. RuntimeError for a tensor with a history."""
    import copy

    from shunt import Tensor
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "deepcopy(): expected a tensor that autograd has no history of (graph leaves), got one made by "
            f"{tensor.grad_fn.name()}; copy its detach()"
        )
    if _C._is_wrapper_subclass(tensor):
        return _deepcopy_wrapper(tensor, memo)
    with no_grad():
        result = _deep_alias(tensor, memo)
        if type(tensor) is not Tensor and type(result) is not type(tensor):
            result = _C._alias_of_class(result, type(tensor))
    if tensor.requires_grad:
        result.requires_grad_()
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = copy.deepcopy(tensor.grad, memo)
    for name in copyreg._slotnames(type(tensor)):
        if hasattr(tensor, name):
            setattr(result, name, copy.deepcopy(getattr(tensor, name), memo))
    if tensor.__dict__:
        result.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return result
