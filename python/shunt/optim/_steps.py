"""The number of steps that parameters have had, as tensors, which graphs of compiled functions count as calls do.

Note [Shared steps]
Parameters of a group that are always updated together share one tensor state["step"], of no dimensions, so what follows
from it is computed once a group. A step in which only some of its holders have gradients gives these a copy first.
"""

from shunt import _C
from shunt import _operators as ops
from shunt._tensor import Tensor


def starting_steps(steps=0):
    """A number of steps as a tensor."""
    return ops.full([], float(steps))


def rate_of(lr):
    """A learning rate as it enters updates: a number, or a float64 tensor without dimensions, which takes any dtype."""
    return lr.reshape(()).double() if isinstance(lr, Tensor) else lr


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
    return [
        (_own(places_of, states, group, state_of).add_(1).to(_C.float64), places_of) for places_of in places.values()
    ]


def _own(places, states, group, state_of):
    """The tensor of parameters with one state["step"], for them alone."""
    step = states[places[0]].get("step")
    if isinstance(step, Tensor):
        holders = sum(p in state_of and state_of[p].get("step") is step for p in group["params"])
        if holders == len(places):
            return step
        step = step.clone()
    else:
        step = starting_steps(step or 0)
    for i in places:
        states[i]["step"] = step
    return step


def share_steps(group, state_of):
    """Gives parameters that have had as many steps one tensor: after loading, where values may be read."""
    tensors = {}
    for p in group["params"]:
        step = state_of[p].get("step") if p in state_of else None
        if step is not None:
            state_of[p]["step"] = tensors.setdefault(
                float(step), step if isinstance(step, Tensor) else starting_steps(step)
            )
