"""What the rules share: decay, rates, and the number of steps that parameters have had, as tensors, which graphs of
compiled functions count as calls do.

Note [Shared steps]
Parameters of a group that are always updated together share one tensor state["step"], of no dimensions, so what follows
from it is computed once a group. A step in which only some of its holders have gradients gives these a copy first; one
before which some have left the group, too. What leaves the optimiser, by state_dict(), is a copy for each parameter: whoever takes it
counts for each.
"""

from shunt import _C
from shunt import _operators as ops
from shunt._tensor import Tensor


def number_in_state(number=0):
    """A number, of steps for one, as a tensor; on the CPU, whatever device new tensors get, as updates read it."""
    return ops.full([], float(number), device="cpu")


def rate_of(lr):
    """A learning rate as it enters updates: a number, or a float64 tensor without dimensions, which takes any dtype.
    That is what a graph has for a number that changes (LiftedFloat)."""
    if isinstance(lr, Tensor):
        return lr.reshape(()).double()
    return lr if type(lr) in (float, int) else getattr(lr, "tensor", lr)


def with_decay(p, grad, group):
    """The gradient to go down by, with the weights' where they decay by it; where they decay apart from it they do so
    here."""
    grad = -grad if group.get("maximize") else grad
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if group.get("decoupled_weight_decay"):
        p.mul_(1 - rate_of(group["lr"]) * decay)
        return grad
    return grad.add(p, alpha=decay)


def count_steps(params, states, group, state_of):
    """Counts a step of each parameter. Returns pairs: the number of steps, a tensor of float64, and the places of the
    parameters that have had so many."""
    shared = states[0].get("step")
    together = all(state.get("step") is shared for state in states)
    if together and isinstance(shared, Tensor) and len(params) == len(group["params"]):
        return [(shared.add_(1).to(_C.float64), range(len(params)))]
    places = {}
    for i, state in enumerate(states):
        places.setdefault(id(state.get("step")), []).append(i)
    return [(_own(places_of, states, state_of).add_(1).to(_C.float64), places_of) for places_of in places.values()]


def part_steps(groups, state_of):
    """Gives parameters that share a number of steps with those of another group, or of none any more, a copy."""
    if len(groups) == 1 and len(state_of) <= len(groups[0]["params"]):
        return
    homes, seen = {}, set()
    for number, group in enumerate(groups):
        copies = {}
        for p in group["params"]:
            if p not in state_of:
                continue
            seen.add(p)
            step = state_of[p].get("step")
            if homes.setdefault(id(step), number) != number and isinstance(step, Tensor):
                if id(step) not in copies:
                    copies[id(step)] = step.clone()
                state_of[p]["step"] = copies[id(step)]
    if len(seen) < len(state_of):
        for p, state in state_of.items():
            if p not in seen and id(state.get("step")) in homes:
                state.update(unshared(state))


def _own(places, states, state_of):
    """The tensor of parameters with one state["step"], for them alone."""
    step = states[places[0]].get("step")
    if isinstance(step, Tensor):
        if sum(state.get("step") is step for state in state_of.values()) == len(places):
            return step
        step = step.clone()
    else:
        step = number_in_state(step or 0)
    for i in places:
        states[i]["step"] = step
    return step


def unshared(state):
    """A parameter's state with a number of steps of its own."""
    step = state.get("step")
    return {**state, "step": step.clone()} if isinstance(step, Tensor) else dict(state)


def share_steps(group, state_of):
    """Gives parameters that have had as many steps one tensor: after loading, where values may be read."""
    tensors = {}
    for p in group["params"]:
        step = state_of[p].get("step") if p in state_of else None
        if step is not None:
            state_of[p]["step"] = tensors.setdefault(
                float(step), step if isinstance(step, Tensor) else number_in_state(step)
            )
