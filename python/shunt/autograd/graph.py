"""The graph itself: its nodes, and hooks on what they save and on several gradients at once."""

import abc
import contextlib
import functools
import threading
from collections import defaultdict, namedtuple
from weakref import WeakKeyDictionary

from shunt import _C
from shunt._C import TensorBase, _FunctionBase, _NodeBase
from shunt.autograd._grad_mode import enable_grad

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class Node(abc.ABC):
    """What Tensor.grad_fn is: name(), next_functions, metadata, register_hook(), register_prehook()."""

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is Node:
            is_context = issubclass(subclass, _FunctionBase) and hasattr(subclass, "_forward_cls")
            return is_context or issubclass(subclass, _NodeBase)
        return NotImplemented


GradientEdge = namedtuple("GradientEdge", ["node", "output_nr"])
GradientEdge.__doc__ = "Where a tensor's gradient goes: a node, and the number of its input."


def get_gradient_edge(tensor):
    """The GradientEdge of a Tensor. RuntimeError for one that requires no gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge(): expected a Tensor that requires a gradient, got one that doesn't")
    node = tensor.grad_fn
    if node is None:
        node = tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr)


def increment_version(tensor):
    """Notes a change in place of a Tensor, or of each of several, that Shunt doesn't know of."""
    for t in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        _C._increment_version(t)


class saved_tensors_hooks:
    """A context manager: what backward will need of the calls in the block is kept as pack_hook(tensor) gives it.

    unpack_hook gives a tensor of the same elements for that, each time it is needed. The innermost pair counts.
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error):
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """What backward will need is kept on the CPU, and copied back to its device when it is used.

    pin_memory: page-locked memory, which Shunt hasn't; RuntimeError.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        if pin_memory:
            raise RuntimeError("save_on_cpu(): expected pin_memory=False, got True")

        def pack(tensor):
            return tensor.device, tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Who enters saved_tensors_hooks in the block gets RuntimeError with this message."""
    before = _C._set_saved_tensors_hooks_disabled(error_message)
    try:
        yield
    finally:
        _C._set_saved_tensors_hooks_disabled(before)


class _MultiHandle:
    """Removes several hooks."""

    def __init__(self, handles):
        self._handles = tuple(handles)

    def remove(self):
        """Removes the hooks."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls fn in each backward that has gradients of several tensors.

    Args:
        tensors: a sequence of Tensors that require gradients.
        fn: with mode "all" called once a backward, with the list of their gradients, None where there was none; with
            "any" called with the first gradient that arrives.
        mode: "all" or "any".

    Returns a handle with remove(). In mode "all" the hook waits for as many gradients as the graph of the running
    backward leads to.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook(): mode is 'all' or 'any', got {mode!r}")
    tensors = list(tensors)
    lock = threading.Lock()
    if mode == "any":
        called = defaultdict(bool)

        def first(grad):
            task = _C._current_graph_task_id()
            with lock:
                seen, called[task] = called[task], True
            if not seen:
                fn(grad)

        return _MultiHandle(t.register_hook(first) for t in tensors)

    nodes = [get_gradient_edge(t).node for t in tensors]
    arrived = {}

    def arrive(index, grad):
        task = _C._current_graph_task_id()
        with lock:
            if task not in arrived:
                arrived[task] = [[None] * len(tensors), sum(map(_C._will_engine_execute_node, nodes))]
            state = arrived[task]
            state[0][index] = grad
            state[1] -= 1
            if state[1] > 0:
                return
            del arrived[task]
        fn(state[0])

    return _MultiHandle(t.register_hook(functools.partial(arrive, i)) for i, t in enumerate(tensors))


class _Copies:
    """What allow_mutation_on_saved_tensors keeps of tensors that the program has changed."""

    def __init__(self):
        self.by_tensor = WeakKeyDictionary()

    def clear(self):
        """Forgets all."""
        self.by_tensor.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """In the block, what backward will need is copied when it is saved, so that it may be changed in place meanwhile.

    PyTorch copies at the first change; here it is copied at once, which takes more memory.
    """
    copies = _Copies()
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        yield copies
