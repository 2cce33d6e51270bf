"""Optimizer: what all optimisers share. Each updates all parameters of a group, unrecorded, in place."""

import copy
import functools
import math
import sys
import weakref
from collections import defaultdict
from itertools import chain

from shunt import _C
from shunt._calls import checked_constructor
from shunt._iterables import iterable_of
from shunt._tensor import Tensor
from shunt.autograd import enable_grad, no_grad
from shunt.optim._steps import part_steps, share_steps, unshared

required = object()


# Optimizers of schedules that were set up, and those among them that have not made a step since; sets of the module's,
# as a walk for a graph sees an optimizer's attributes.
scheduled, waiting_for_step = weakref.WeakSet(), weakref.WeakSet()


def _with_hooks(step):
    """A class's step() between the hooks, which are called once where one class's step() calls its base's."""

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        if waiting_for_step:
            waiting_for_step.discard(self)
        if self._stepping or not (self._pre_hooks or self._post_hooks):
            return step(self, *args, **kwargs)
        self._stepping, args = True, (self, *args)  # PyTorch's hooks see the optimizer among the arguments
        try:
            for hook in list(self._pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"step(): expected of a hook before it None or (args, kwargs), got {changed}")
                args, kwargs = changed
            result = step(*args, **kwargs)
            for hook in list(self._post_hooks.values()):
                hook(self, args, kwargs)
        finally:
            self._stepping = False
        return result

    return hooked


@checked_constructor
class Optimizer:
    """Base of optimisers.

    Args:
        params: parameters, pairs of name and parameter, or dictionaries {"params": [...], settings} of groups.
        defaults: the settings of groups that don't say otherwise. NotImplementedError where "differentiable" is true:
        steps aren't recorded.
    A derived class defines _update(params, grads, states, group), for the parameters of a group that have gradients.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __init__(self, params, defaults):
        if defaults.get("differentiable"):
            raise NotImplementedError(f"{type(self).__name__}(): expected differentiable=False, got "
                                      f"{defaults['differentiable']}: gradients of steps aren't implemented")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._no_hooks()
        groups = list(iterable_of("Tensors or of dicts", type(self).__name__, "params", params))
        if not groups:
            raise ValueError(f"{type(self).__name__}(): expected at least one parameter, got none")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds a group of parameters with settings of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"add_param_group(): expected a dict, got {type(param_group).__name__}")
        if "params" not in param_group:
            from shunt._near_names import did_you_mean
            near = [did_you_mean(str(name), ["params"]) for name in param_group]
            raise KeyError(f"{type(self).__name__}(): expected 'params' in each group, got {list(param_group)}"
                           + "".join(dict.fromkeys(near)))
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(
                f"{type(self).__name__}(): expected params in an order that stays, such as a list's, got a set"
            )
        if not isinstance(params, Tensor):
            params = list(iterable_of("Tensors", type(self).__name__, "params", params))
        params = [params] if isinstance(params, Tensor) else params
        named = [isinstance(p, tuple) for p in params]
        if any(named):
            if not all(named):
                raise ValueError(
                    f"{type(self).__name__}(): expected names for all params or for none, got {sum(named)} of "
                    f"{len(named)}"
                )
            group["param_names"], params = [name for name, _ in params], [p for _, p in params]
        if self.param_groups and ("param_names" in self.param_groups[0]) != ("param_names" in group):
            has = "with" if "param_names" in group else "without"
            raise ValueError(
                f"{type(self).__name__}(): expected names in all param_groups or in none, got a group {has} names"
            )
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"{type(self).__name__}(): expected params to be Tensors, got {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError(
                    f"{type(self).__name__}(): expected leaves as params, got a tensor that {p.grad_fn.name()} computed"
                )
        group["params"] = params
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(
                    f"{type(self).__name__}(): expected {name} in each group, as it has no default, got {sorted(group)}"
                )
            group.setdefault(name, value)
        if len(set(params)) != len(params):
            _C._warn(
                f"{type(self).__name__}(): expected each parameter once in a group, got some twice; this will be an "
                "error",
            )
        if set(params) & set(chain.from_iterable(other["params"] for other in self.param_groups)):
            raise ValueError(f"{type(self).__name__}(): expected each parameter in one group, got some in several")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Removes the parameters' grads, or fills them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    @_with_hooks
    def step(self, closure=None):
        """One update. `closure` computes the loss again, with gradients; its result is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            part_steps(self.param_groups, self.state)
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if params:
                    self._update(params, [p.grad for p in params], [self.state[p] for p in params], group)
        return loss

    def _update(self, params, grads, states, group):
        raise NotImplementedError

    def _add_hook(self, table, hook):
        from shunt.nn.modules._hooks import RemovableHandle
        handle = RemovableHandle(table)
        table[handle.id] = hook
        return handle

    def register_step_pre_hook(self, hook):
        """hook(optimizer, args, kwargs) before each step; args begin with the optimizer. A pair that it returns takes
        the place of (args, kwargs); RuntimeError for anything else but None."""
        return self._add_hook(self._pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """hook(optimizer, args, kwargs) after each step."""
        return self._add_hook(self._post_hooks, hook)

    def _state_hook(self, kind, hook, prepend):
        if self._state_hooks is None:
            self._state_hooks = {}
        table = self._state_hooks.setdefault(kind, {})
        handle = self._add_hook(table, hook)
        if prepend:
            for key in [key for key in table if key != handle.id]:
                table[key] = table.pop(key)
        return handle

    def _run_state_hooks(self, kind, state_dict=None):
        """The state_dict that hooks made of one; they are called with it where there is one."""
        for hook in list(((self._state_hooks or {}).get(kind) or {}).values()):
            result = hook(self) if state_dict is None else hook(self, state_dict)
            if state_dict is not None and result is not None:
                state_dict = result
        return state_dict

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer) before state_dict() reads anything."""
        return self._state_hook("pre", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) after state_dict(), which returns what the hook does where that isn't None."""
        return self._state_hook("post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) before load_state_dict(), with a shallow copy, may return another one."""
        return self._state_hook("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer) after load_state_dict()."""
        return self._state_hook("load_post", hook, prepend)

    def state_dict(self):
        """{"state": by number of the parameter, "param_groups": settings, parameters by number}. Tensors are the
        optimizer's own, but for numbers of steps: each parameter has one of its own (see [Shared steps])."""
        self._run_state_hooks("pre")
        numbers = {p: i for i, p in enumerate(chain.from_iterable(group["params"] for group in self.param_groups))}
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[p] for p in group["params"]]}
                  for group in self.param_groups]
        result = {"state": {numbers[p]: unshared(state) for p, state in self.state.items() if p in numbers and state},
                  "param_groups": groups}
        return self._run_state_hooks("post", result)

    def load_state_dict(self, state_dict):
        """Takes a state_dict() of an optimiser of the same groups. ValueError where the groups differ. Settings that it
        doesn't have, of an older version say, are those that groups have by default."""
        if self._state_hooks:
            state_dict = self._run_state_hooks("load_pre", dict(state_dict))
        saved = copy.deepcopy(state_dict)
        groups = saved["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"load_state_dict(): expected {len(self.param_groups)} groups, as the optimizer has, got {len(groups)}"
            )
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups)):
            sizes = [[len(group["params"]) for group in each] for each in (self.param_groups, groups)]
            raise ValueError(f"load_state_dict(): expected {sizes[0]} parameters in the groups, got {sizes[1]}")
        parameters = dict(zip(chain.from_iterable(g["params"] for g in groups),
                              chain.from_iterable(g["params"] for g in self.param_groups)))

        def fitting(name, value, p):
            if not isinstance(value, Tensor) or name == "step":
                return value
            return value.to(dtype=p.dtype, device=p.device) if p.is_floating_point() else value.to(device=p.device)

        self.state = defaultdict(dict)
        for number, state in saved["state"].items():
            p = parameters[number]
            self.state[p] = {name: fitting(name, value, p) for name, value in state.items()}
        known = {name: value for name, value in self.defaults.items() if value is not required}
        kept = [{k: old[k] for k in ("params", "param_names") if k in old} for old in self.param_groups]
        self.param_groups = [{**known, **old, **new, "params": old["params"]} for new, old in zip(groups, kept)]
        for group in self.param_groups:
            share_steps(group, self.state)
        self._run_state_hooks("load_post")

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._no_hooks()

    def _no_hooks(self):
        self._pre_hooks, self._post_hooks, self._stepping = {}, {}, False
        self._state_hooks = None  # by what they are for, where there are any

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


def _whose():
    """The name of the optimizer's class that is being made."""
    frame = sys._getframe(2)
    while frame is not None and not isinstance(frame.f_locals.get("self"), Optimizer):
        frame = frame.f_back
    return "Optimizer" if frame is None else type(frame.f_locals["self"]).__name__


def check_settings(**settings):
    """ValueError for settings that are out of range: name=(value, least) or name=(value, least, below)."""
    for name, (value, *bounds) in settings.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(f"{name}: expected a tensor of one element, got one of {value.numel()}")
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError(f"{_whose()}(): {name}: expected a number, got {value!r}")
        number = float(value)
        if math.isnan(number) or number < bounds[0] or (len(bounds) > 1 and number >= bounds[1]):
            raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas):
    """TypeError, or ValueError, for anything but two numbers."""
    if not isinstance(betas, (tuple, list)):
        raise TypeError(f"{_whose()}(): betas: expected two numbers, got {betas!r}")
    if len(betas) != 2:
        raise ValueError(f"{_whose()}(): betas: expected two numbers, got {len(betas)}: {betas!r}")


def check_tensor_rates(foreach, capturable, lr, betas=()):
    """ValueError where lr or betas are tensors as PyTorch refuses them: with `foreach` alone, or one beta alone."""
    are_tensors = {"lr": isinstance(lr, Tensor)}
    are_tensors.update((f"betas[{i}]", isinstance(beta, Tensor)) for i, beta in enumerate(betas))
    if betas and are_tensors["betas[0]"] != are_tensors["betas[1]"]:
        raise ValueError(f"betas: expected two numbers or two tensors, got {betas}")
    refused = [name for name, is_tensor in are_tensors.items() if is_tensor]
    if refused and foreach and not capturable:
        raise ValueError(f"{refused[0]}: expected a number, as foreach is true and capturable isn't, got a tensor")
