"""Hooks of modules: functions that are called around forward and backward."""

from shunt._tensor import Tensor


class RemovableHandle:
    """What registering a hook returns: remove() takes the hook back. Also a context manager."""

    _next_id = 0

    def __init__(self, hooks, *, extra_dict=None):
        self._hooks = hooks
        self._others = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self):
        """Takes the hook back; once is enough."""
        for hooks in (self._hooks, *self._others):
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class _Hook:
    def __init__(self, function, with_kwargs=False, always_call=False):
        self.function, self.with_kwargs, self.always_call = function, with_kwargs, always_call


class HookTable:
    """A module's hooks, by what they are for."""

    def __init__(self):
        self.forward_pre, self.forward, self.backward_pre, self.backward = {}, {}, {}, {}

    def add(self, kind, function, prepend=False, *settings):
        table = getattr(self, kind)
        handle = RemovableHandle(table)
        table[handle.id] = _Hook(function, *settings)
        if prepend:
            others = [key for key in table if key != handle.id]
            for key in others:
                table[key] = table.pop(key)
        return handle


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _run_forward_pre(module, args, kwargs):
    for hook in list(module._hooks.forward_pre.values()):
        if hook.with_kwargs:
            result = hook.function(module, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{type(module).__name__}: expected a forward pre-hook to return None or its arguments as a "
                        f"pair (args, kwargs), got {result}"
                    )
                args, kwargs = result
        else:
            result = hook.function(module, args)
            if result is not None:
                args = _as_tuple(result)
    return args, kwargs


def _run_forward(module, args, kwargs, output, only_always=False):
    for hook in list(module._hooks.forward.values()):
        if only_always and not hook.always_call:
            continue
        result = hook.function(module, args, kwargs,
                               output) if hook.with_kwargs else hook.function(module, args, output)
        if result is not None:
            output = result
    return output


class _BackwardHooks:
    """Passes the tensors that enter and leave forward through a function of autograd, whose gradients the hooks see."""

    def __init__(self, module):
        self.module = module
        self.pre = [hook.function for hook in module._hooks.backward_pre.values()]
        self.full = [hook.function for hook in module._hooks.backward.values()]
        self.grad_output = None

    def inputs(self, args):
        return self._through(args, self._after) if self.full else args

    def outputs(self, output):
        passed = self._through(_as_tuple(output), self._before)
        return passed if isinstance(output, tuple) else passed[0]

    def _through(self, values, on_backward):
        from shunt.autograd import Function

        places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        if not any(values[i].requires_grad for i in places):
            return values

        class BackwardHook(Function):
            @staticmethod
            def forward(ctx, *tensors):
                ctx.set_materialize_grads(False)
                return tuple(t.view_as(t) for t in tensors)

            @staticmethod
            def backward(ctx, *grads):
                return on_backward(grads, places, len(values))

        results = list(values)
        for place, result in zip(places, _as_tuple(BackwardHook.apply(*(values[i] for i in places)))):
            results[place] = result
        return tuple(results)

    def _before(self, grads, places, length):
        given = self._spread(grads, places, length)
        for hook in self.pre:
            result = hook(self.module, given)
            if result is not None:
                given = _as_tuple(result)
        self.grad_output = given
        return tuple(given[i] for i in places)

    def _after(self, grads, places, length):
        given = self._spread(grads, places, length)
        for hook in self.full:
            result = hook(self.module, given, self.grad_output)
            if result is not None:
                given = _as_tuple(result)
        return tuple(given[i] for i in places)

    @staticmethod
    def _spread(grads, places, length):
        spread = [None] * length
        for place, grad in zip(places, grads):
            spread[place] = grad
        return tuple(spread)


def call_with_hooks(module, args, kwargs):
    """module(*args, **kwargs) where the module has hooks."""
    hooks = module._hooks
    forward_is_done = False
    try:
        args, kwargs = _run_forward_pre(module, args, kwargs)
        backward = _BackwardHooks(module) if hooks.backward or hooks.backward_pre else None
        if backward is not None:
            args = backward.inputs(args)
        output = module.forward(*args, **kwargs)
        forward_is_done = True
        output = _run_forward(module, args, kwargs, output)
        return output if backward is None else backward.outputs(output)
    except Exception:
        if not forward_is_done:
            _run_forward(module, args, kwargs, None, only_always=True)
        raise
