"""Schedules of learning rates: step() after each epoch sets "lr" of the optimiser's groups."""

import math
from collections import Counter

from shunt import _C
from shunt._calls import checked_constructor
from shunt._tensor import Tensor


def rate(group):
    """A group's learning rate as a number."""
    lr = group["lr"]
    return float(lr) if isinstance(lr, Tensor) else lr


def set_rate(group, lr):
    """Sets a group's learning rate; one that is a tensor keeps its place, which graphs of compiled functions read."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = lr


def check_order(optimizer):
    """Warns, once an optimizer, where a schedule goes on before the optimizer has made a step."""
    from shunt.optim.optimizer import waiting_for_step
    if optimizer in waiting_for_step:
        waiting_for_step.discard(optimizer)
        _C._warn("Detected call of `lr_scheduler.step()` while `optimizer.step()` has not been called yet: the first "
                 "learning rate of the schedule is never used. Call optimizer.step() first.")


@checked_constructor
class LRScheduler:
    """Base of schedules. A derived class defines get_lr(), the rates of all groups at self.last_epoch.

    Args:
        optimizer: whose rates are set.
        last_epoch: the epoch before the next; -1 begins anew, with the optimiser's rates.
    """

    def __init__(self, optimizer, last_epoch=-1):
        from shunt.optim.optimizer import Optimizer, scheduled, waiting_for_step
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}(): expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate(group))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}(): last_epoch={last_epoch} expects 'initial_lr' in each of param_groups, "
                    f"got none in group {i}"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self.step()
        if optimizer not in scheduled and not optimizer.state:
            scheduled.add(optimizer)
            waiting_for_step.add(optimizer)

    def get_lr(self):
        """The rates of all groups."""
        raise NotImplementedError

    def get_last_lr(self):
        """The rates that step() has set last."""
        return self._last_lr

    def _factor(self):
        """What the first rates are times at self.last_epoch, or None where only get_lr() tells the rates."""
        return None

    def _rates_there(self):
        """The rates at self.last_epoch whatever they are now: of an epoch that isn't the next."""
        factor = self._factor()
        return self.get_lr() if factor is None else [base * factor for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on to the next epoch, or to any."""
        self._step_count += 1
        if self._step_count > 1:
            check_order(self.optimizer)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr() if epoch is None else self._rates_there()):
            set_rate(group, lr)
        self._last_lr = self._rates()

    def state_dict(self):
        """What load_state_dict takes."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict):
        """Goes on from a state_dict()."""
        self.__dict__.update(state_dict)

    def _rates(self):
        return [rate(group) for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def lambdas_of(scheduler, optimizer, lr_lambda):
    """A function for each group of parameters. ValueError where a list has more or fewer."""
    groups = len(optimizer.param_groups)
    lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
    if len(lambdas) != groups:
        name = type(scheduler).__name__
        raise ValueError(f"{name}(): expected {groups} functions in lr_lambda, one for each group, got {len(lambdas)}")
    return lambdas


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or a list of one a group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = lambdas_of(self, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self):
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _factor(self):
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each of the epochs `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._rates()]

    def _factor(self):
        return self.gamma ** sum(times for epoch, times in self.milestones.items() if epoch <= self.last_epoch)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [lr * self.gamma if self.last_epoch > 0 else lr for lr in self._rates()]

    def _factor(self):
        return self.gamma**self.last_epoch


class ConstantLR(LRScheduler):
    """Times factor for the first total_iters epochs."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR(): expected factor from 0 to 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        return [lr * (1.0 / self.factor) if self.last_epoch == self.total_iters else lr for lr in self._rates()]

    def _factor(self):
        return self.factor if self.last_epoch < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """A factor that goes from start_factor to end_factor in total_iters epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR(): expected start_factor above 0 and at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR(): expected end_factor from 0 to 1, got {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return [lr * (1.0 + slope / before) for lr in self._rates()]

    def _factor(self):
        part = min(self.last_epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class CosineAnnealingLR(LRScheduler):
    """From the first rate to eta_min along half a cosine in T_max epochs (Loshchilov and Hutter 2016)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        low, period, epoch = self.eta_min, self.T_max, self.last_epoch
        if epoch == 0:
            return self._rates()
        if self._step_count == 1 and epoch > 0:
            return self._rates_there()
        if (epoch - 1 - period) % (2 * period) == 0:
            return [lr + (base - low) * (1 - math.cos(math.pi / period)) / 2
                    for base, lr in zip(self.base_lrs, self._rates())]
        factor = (1 + math.cos(math.pi * epoch / period)) / (1 + math.cos(math.pi * (epoch - 1) / period))
        return [factor * (lr - low) + low for lr in self._rates()]

    def _rates_there(self):
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


@checked_constructor
class ReduceLROnPlateau:
    """Times factor where a metric, given to step(), hasn't improved for more than `patience` epochs."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0,
                 eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau(): expected mode to be 'min' or 'max', got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau(): expected threshold_mode to be 'rel' or 'abs', got {threshold_mode!r}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = [rate(group) for group in optimizer.param_groups]

    def is_better(self, a, best):
        """Whether the metric has improved by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            # An infinite one has no margin: times a threshold of 1 it would be NaN.
            return sign * a > (sign * best * (1 + sign * self.threshold) if math.isfinite(best) else sign * best)
        return sign * a > sign * best + self.threshold

    def step(self, metrics, epoch=None):
        """Looks at the metric of an epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                lr = max(rate(group) * self.factor, least)
                if rate(group) - lr > self.eps:
                    set_rate(group, lr)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [rate(group) for group in self.optimizer.param_groups]

    get_last_lr = LRScheduler.get_last_lr
    state_dict = LRScheduler.state_dict
    load_state_dict = LRScheduler.load_state_dict


from shunt.optim._schedules import (  # noqa: E402  they are derived from LRScheduler
    ChainedScheduler,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    MultiplicativeLR,
    OneCycleLR,
    PolynomialLR,
    SequentialLR,
)

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler",
           "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau",
           "SequentialLR",
           "StepLR"]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
