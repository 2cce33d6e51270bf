"""GradScaler."""

from collections import defaultdict

from shunt import _C
from shunt import _operators as ops
from shunt._calls import checked_constructor
from shunt._tensor import Tensor
from shunt.autograd import no_grad

__all__ = ["GradScaler"]


@checked_constructor
class GradScaler:
    """Keeps gradients of a lower precision from vanishing: the loss is times a scale, by which gradients are divided
    before the optimizer's step. A step whose gradients are infinite or NaN is left out, and the scale made smaller.

    Args:
        device: "cuda" (switched off, with a warning, where there is none) or "cpu".
        init_scale: the first scale.
        growth_factor, backoff_factor: what the scale is times after growth_interval good steps in a row, and after a
        bad one. enabled: False makes scale() return the loss as it is, and step() call the optimizer's.
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            from shunt import cuda

            if not cuda.is_available():
                _C._warn("GradScaler(): switched off, as there is no CUDA for its device 'cuda'")
                self._enabled = False
        if self._enabled:
            if not growth_factor > 1:
                raise AssertionError(f"GradScaler(): growth_factor: expected more than 1, got {growth_factor}")
            if not backoff_factor < 1:
                raise AssertionError(f"GradScaler(): backoff_factor: expected less than 1, got {backoff_factor}")
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        # By id of the optimizer: whether gradients were infinite, and what has been done.
        self._found = defaultdict(dict)

    def scale(self, outputs):
        """The loss, or a nest of lists and tuples of losses, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(o) for o in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise ValueError(f"scale(): outputs: expected tensors, also in lists and tuples, got {type(outputs).__name__}")

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale: before they are clipped, say."""
        if not self._enabled:
            return
        state = self._found[id(optimizer)]
        if state.get("stage") == "unscaled":
            raise RuntimeError("unscale_(): the optimizer's gradients are divided already; expected update() first")
        if state.get("stage") == "stepped":
            raise RuntimeError("unscale_(): expected a call before step(), got one after it")
        infinite = None  # where there is no gradient
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        infinite = bool(infinite) or not bool(ops.isfinite(p.grad).all())
                        p.grad.mul_(1.0 / self._scale)
        state["infinite"], state["stage"] = infinite, "unscaled"

    def step(self, optimizer, *args, **kwargs):
        """The optimizer's step, unless a gradient is infinite or NaN. Returns what it returns, or None. AssertionError
        where no parameter has a gradient."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step(): closure: expected none, as its gradients wouldn't be divided by the scale")
        state = self._found[id(optimizer)]
        if state.get("stage") == "stepped":
            raise RuntimeError("step(): expected update() between two steps of an optimizer, got none")
        if state.get("stage") != "unscaled":
            self.unscale_(optimizer)
        if state["infinite"] is None:
            raise AssertionError("step(): optimizer: expected a parameter with a gradient, got none")
        result = None if state["infinite"] else optimizer.step(*args, **kwargs)
        state["stage"] = "stepped"
        return result

    def update(self, new_scale=None):
        """Makes the scale larger or smaller by what step() has seen; or sets it, to a number or a tensor of one."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            seen = [state["infinite"] for state in self._found.values() if state.get("infinite") is not None]
            if not seen:
                raise AssertionError("update(): expected a step(), or unscale_(), of gradients before it, got none")
            if any(seen):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._found.clear()

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    def get_scale(self):
        """The scale; 1.0 where it is switched off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self):
        """What the scale is times after good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is times after a bad step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many good steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets that."""
        self._growth_interval = new_interval

    def state_dict(self):
        """What load_state_dict() takes; empty where it is switched off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict):
        """Goes on from a state_dict()."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "load_state_dict(): state_dict: expected that of a scaler that was switched on, got an empty one"
            )
        self._scale, self._growth_tracker = float(state_dict["scale"]), state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
