"""More schedules: cycles, restarts, and schedules of schedules."""

import math
from bisect import bisect_right

from shunt.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau, lambdas_of, set_rate
from shunt.optim.optimizer import waiting_for_step


def _check_count(function, name, value):
    """ValueError for what isn't a whole number from 1."""
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{function}(): {name}: expected a whole number from 1, got {value!r}")


class MultiplicativeLR(LRScheduler):
    """Times lr_lambda(epoch) every epoch; one function, or a list of one a group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = lambdas_of(self, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch <= 0:
            return self._rates()
        return [lr * function(self.last_epoch) for lr, function in zip(self._rates(), self.lr_lambdas)]

    def state_dict(self):
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class PolynomialLR(LRScheduler):
    """Times (1 - epoch / total_iters) ** power, until it is 0."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1 - self.last_epoch / self.total_iters
        factor = (left / (1 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * factor for lr in self._rates()]

    def _factor(self):
        return (1 - min(self.last_epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate to eta_min along half a cosine, again and again: in T_0 epochs first, then each time in
    T_mult times as many (Loshchilov and Hutter 2016)."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, count in (("T_0", T_0), ("T_mult", T_mult)):
            _check_count("CosineAnnealingWarmRestarts", name, count)
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f"CosineAnnealingWarmRestarts(): eta_min: expected a number, got {eta_min!r}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        half = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * half for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on to the next epoch, or to any, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts.step(): expected an epoch of at least 0, got {epoch}")
        elif epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        super().step(math.floor(epoch))


def _for_groups(name, value, optimizer):
    if not isinstance(value, (list, tuple)):
        return [value] * len(optimizer.param_groups)
    if len(value) != len(optimizer.param_groups):
        raise ValueError(f"{name}: expected {len(optimizer.param_groups)} values, one a group, got {len(value)}")
    return value


class _WithMomentum(LRScheduler):
    """A schedule that changes the momentum, or Adam's first beta, as well."""

    def _check_momentum(self, optimizer):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                f"{type(self).__name__}(): cycle_momentum=True expects an optimizer with momentum or betas, got "
                f"{type(optimizer).__name__}"
            )
        self._by_betas = "betas" in optimizer.defaults

    def _set_momentum(self, group, value):
        if self._by_betas:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """From base_lr to max_lr and back in step_size_up and step_size_down steps (Smith 2017).

    Args:
        mode: "triangular"; "triangular2", where each cycle has half the height; "exp_range", where heights are times
            gamma ** step.
        scale_fn, scale_mode: a function of the number of the "cycle", or of "iterations", that heights are times
        instead. cycle_momentum, base_momentum, max_momentum: whether the momentum goes the other way.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        base_lrs = _for_groups("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_rate(group, lr)
        self.max_lrs = _for_groups("max_lr", max_lr, optimizer)
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = float(step_size_up) + down
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                "CyclicLR(): expected mode to be 'triangular', 'triangular2' or 'exp_range', or a scale_fn, got mode "
                f"{mode!r}"
            )
        self.mode, self.gamma, self._custom, self.cycle_momentum = mode, gamma, scale_fn, cycle_momentum
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        if cycle_momentum:
            self._check_momentum(optimizer)
            self.base_momentums = _for_groups("base_momentum", base_momentum, optimizer)
            self.max_momentums = _for_groups("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, most, least in zip(optimizer.param_groups, self.max_momentums, self.base_momentums):
                    self._set_momentum(group, most)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = list(base_lrs)

    def scale_fn(self, x):
        """What heights are times."""
        if self._custom is not None:
            return self._custom(x)
        return {
            "triangular": lambda: 1.0,
            "triangular2": lambda: 1 / 2.0 ** (x - 1),
            "exp_range": lambda: self.gamma**x,
        }[self.mode]()

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, least, most in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, most - (most - least) * height)
        return [base + (most - base) * height for base, most in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        return {name: value for name, value in super().state_dict().items() if name != "_custom"}


class OneCycleLR(_WithMomentum):
    """One rise from max_lr / div_factor to max_lr, and a fall to that first rate / final_div_factor (Smith and Topin
    2018).

    Args:
        total_steps: how many steps there are; or `epochs` times `steps_per_epoch`.
        pct_start: the part of them that the rise takes.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: whether the momentum goes the other way.
        three_phase: whether the fall is as long as the rise, with a third part after it.
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        self.total_steps = self._total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR(): pct_start: expected a float from 0 to 1, got {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR(): anneal_strategy: expected 'cos' or 'linear', got {anneal_strategy!r}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        n = self.total_steps
        rise, fall = (
            ("initial_lr", "max_lr", "max_momentum", "base_momentum"),
            ("max_lr", "min_lr", "base_momentum", "max_momentum"),
        )
        if three_phase:
            middle, last = (
                ("max_lr", "initial_lr", "base_momentum", "max_momentum"),
                ("initial_lr", "min_lr", "max_momentum", "max_momentum"),
            )
            self._schedule_phases = [(pct_start * n - 1, *rise), (2 * pct_start * n - 2, *middle), (n - 1, *last)]
        else:
            self._schedule_phases = [(pct_start * n - 1, *rise), (n - 1, *fall)]
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, _for_groups("max_lr", max_lr, optimizer)):
                group["initial_lr"] = most / div_factor
                group["max_lr"], group["min_lr"] = most, group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._check_momentum(optimizer)
            if last_epoch == -1:
                for group, most, least in zip(
                    optimizer.param_groups,
                    _for_groups("max_momentum", max_momentum, optimizer),
                    _for_groups("base_momentum", base_momentum, optimizer),
                ):
                    self._set_momentum(group, most)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _total(total_steps, epochs, steps_per_epoch):
        counts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        if total_steps is not None:
            counts = {"total_steps": total_steps}
        elif None in counts.values():
            raise ValueError(f"OneCycleLR(): expected total_steps, or both of epochs and steps_per_epoch, got {counts}")
        for name, count in counts.items():
            _check_count("OneCycleLR", name, count)
        return math.prod(counts.values())

    def _between(self, start, end, part):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: expected at most {self.total_steps} steps, got step {self.last_epoch}")
        begin = 0.0
        for phase in self._schedule_phases:
            end, lr_from, lr_to, momentum_from, momentum_to = phase
            if self.last_epoch <= end or phase is self._schedule_phases[-1]:
                break
            begin = end
        part = (self.last_epoch - begin) / (end - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._between(group[momentum_from], group[momentum_to], part))
        return [self._between(group[lr_from], group[lr_to], part) for group in self.optimizer.param_groups]


def _check_schedulers(name, schedulers, optimizer):
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name}(): schedulers[{i}]: expected a schedule, got {type(scheduler).__name__}")
        kind = type(scheduler).__name__
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name}(): schedulers[{i}]: expected one whose step() needs no metric, got {kind}")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name}(): schedulers[{i}]: expected one of the same optimizer, got {kind} of another")


class _OfSchedulers:
    """The state of schedules of schedules, which has theirs in it."""

    def state_dict(self):
        """What load_state_dict takes."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Goes on from a state_dict()."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_OfSchedulers, LRScheduler):
    """Schedules one after the other, where the next begins at each of the epochs `milestones`."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError("SequentialLR(): schedulers: expected at least one, got none")
        _check_schedulers("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR(): milestones: expected {len(schedulers) - 1}, one between each two schedulers, got "
                f"{len(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        waits = optimizer in waiting_for_step
        waiting_for_step.discard(optimizer)  # the first rate is set, which is no step of the program's
        self._begin(self._schedulers[0])
        if waits:
            waiting_for_step.add(optimizer)

    def _begin(self, scheduler):
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        scheduler.step(0)
        self._last_lr = scheduler.get_last_lr()

    def step(self, epoch=None):
        """Goes on to the next epoch."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            self._begin(scheduler)
            return
        scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers, LRScheduler):
    """Schedules at the same time: each changes what the one before has set."""

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler(): schedulers: expected at least one, got none")
        self.optimizer = optimizer or schedulers[0].optimizer
        _check_schedulers("ChainedScheduler", schedulers, self.optimizer)
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self, epoch=None):
        """Goes on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
