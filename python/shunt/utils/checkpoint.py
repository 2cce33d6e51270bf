"""Checkpoints: what backward needs is computed again instead of being kept."""

import contextlib
import functools
import weakref

import shunt
from shunt import _C
from shunt._C import TensorBase
from shunt.autograd import Function
from shunt.autograd._grad_mode import enable_grad, no_grad
from shunt.autograd.graph import saved_tensors_hooks

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "noop_context_fn"]


class CheckpointError(RuntimeError):
    """What is raised where the second forward saves other tensors than the first."""


class _StopRecomputation(Exception):
    """All that is needed has been computed."""


def noop_context_fn():
    """Two context managers that do nothing: for the first forward and for the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _replayed_randomness(state):
    """Random numbers from this place on in the block, and those that would have come after it. None: no change."""
    if state is None:
        yield
        return
    now = shunt.get_rng_state()
    shunt.set_rng_state(state)
    try:
        yield
    finally:
        shunt.set_rng_state(now)


def _detached(args):
    return tuple(a.detach().requires_grad_(a.requires_grad) if isinstance(a, TensorBase) else a for a in args)


class CheckpointFunction(Function):
    """checkpoint() with use_reentrant=True: the whole function is one step of the graph."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        ctx.run_function = run_function
        ctx.rng_state = shunt.get_rng_state() if preserve_rng_state else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.inputs = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.save_for_backward(*(a for a in args if isinstance(a, TensorBase)))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[place] = tensor
        inputs = _detached(inputs)
        with enable_grad(), _replayed_randomness(ctx.rng_state):
            outputs = ctx.run_function(*inputs)
        if isinstance(outputs, TensorBase):
            outputs = (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, TensorBase) and o.requires_grad]
        if not pairs:
            raise RuntimeError(
                "checkpoint(): expected an output with requires_grad=True, got none; nothing needs to be computed "
                "again here"
            )
        shunt.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(i.grad if isinstance(i, TensorBase) else None for i in inputs))


class _Holder:
    """Stands for a saved tensor in the graph, alive as long as the graph needs it."""

    __slots__ = ("__weakref__", "values")

    def __init__(self):
        self.values = {}


class _Frame:
    """One call of checkpoint(): how to run it again, and what stands for the tensors that it saved."""

    def __init__(self, recompute, early_stop, determinism_check):
        self.recompute = recompute
        self.early_stop = early_stop
        self.check = determinism_check
        self.holders = []
        self.shapes = []
        self.done = set()  # numbers of backward passes

    def pack(self, tensor):
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.shapes.append((tensor.shape, tensor.dtype, tensor.device))
        return holder

    def unpack(self, holder):
        run = shunt._C._current_graph_task_id()
        if run not in holder.values:
            if run in self.done:
                raise CheckpointError("shunt.utils.checkpoint: a tensor saved in forward was not saved when the "
                                      "function "
                                      "ran again, or it is used twice in one backward. The function must do the same "
                                      "each time")
            self._run_again(run)
            self.done.add(run)
        if run not in holder.values:
            raise CheckpointError(
                "checkpoint(): expected the second forward to save all tensors that the first one saved, got fewer"
            )
        return holder.values.pop(run)

    def _run_again(self, run):
        count = 0

        def keep(tensor):
            nonlocal count
            if count >= len(self.holders):
                raise CheckpointError(
                    f"checkpoint(): expected the second forward to save {len(self.holders)} tensors, as the first one "
                    "did, got more"
                )
            if self.check == "default" and self.shapes[count] != (tensor.shape, tensor.dtype, tensor.device):
                raise CheckpointError(
                    f"checkpoint(): expected the second forward to save the first one's tensors: tensor {count} was "
                    f"{self.shapes[count]}, and is {(tensor.shape, tensor.dtype, tensor.device)} now"
                )
            holder = self.holders[count]()
            count += 1
            if holder is not None:
                holder.values[run] = tensor.detach()
            if self.early_stop and count == len(self.holders):
                raise _StopRecomputation
            return tensor.detach()

        def not_used(tensor):
            raise CheckpointError("shunt.utils.checkpoint: backward inside of the checkpointed function is not "
                                  "supported "
                                  "while it is computed again")

        with contextlib.suppress(_StopRecomputation), enable_grad(), saved_tensors_hooks(keep, not_used):
            self.recompute()


def _checkpoint_without_reentry(function, preserve_rng_state, context_fn, determinism_check, early_stop, args, kwargs):
    forward_context, again_context = context_fn()
    state = shunt.get_rng_state() if preserve_rng_state else None

    def recompute():
        with _replayed_randomness(state), again_context:
            function(*args, **kwargs)

    frame = _Frame(recompute, early_stop, determinism_check)
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default",
               debug=False, early_stop=True, **kwargs):
    """function(*args, **kwargs), without keeping what its operators save for backward, which runs it again.

    Args:
        function: does the same each time it is called with the same arguments and random numbers.
        use_reentrant: False: each operator is recorded as ever, and what it saves is computed again when it is used.
            True: the function is one step of the graph; takes no keywords, and gradients only go to Tensors among args.
        preserve_rng_state: whether the second run gets the random numbers of the first (True by default).
        context_fn: gives two context managers, for the first run and for the second; without use_reentrant only.
        determinism_check: "default" compares shapes, dtypes and devices of what both runs save; "none" doesn't.
        early_stop: whether the second run ends when all that is needed has been computed.
        debug: taken, and changes nothing.
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        _C._warn(
            "checkpoint(): pass use_reentrant; use_reentrant=False is recommended, and it is True by default, as in "
            "PyTorch",
        )
        use_reentrant = True
    if not use_reentrant:
        if determinism_check not in ("default", "none"):
            raise ValueError(f"checkpoint(): determinism_check is 'default' or 'none', got {determinism_check!r}")
        return _checkpoint_without_reentry(function, preserve, context_fn, determinism_check, early_stop, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("checkpoint(): context_fn and debug expect use_reentrant=False, got True")
    if not any(isinstance(a, TensorBase) and a.requires_grad for a in args):
        _C._warn(
            "checkpoint(): expected an argument with requires_grad=True, got none, so gradients will be None",
        )
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Calls functions one after the other, each segment of them but the last in a checkpoint.

    Args:
        functions: a sequence of callables, or a module of modules in a row.
        segments: how many parts to make of them.
        input: what the first gets.
        use_reentrant, preserve_rng_state: as of checkpoint.
    """
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(part):
        return lambda value: functools.reduce(lambda v, function: function(v), part, value)

    size = len(functions) // segments
    end = 0
    for _ in range(segments - 1):
        part, end = functions[end:end + size], end + size
        input = checkpoint(run(part), input, use_reentrant=use_reentrant, **kwargs)
    return run(functions[end:])(input)
