"""Averages of a module's parameters over training, and a schedule for the time in which they are averaged."""

import copy
import math

from shunt import _operators as ops
from shunt import int64
from shunt.autograd import no_grad
from shunt.nn import Module
from shunt.optim.lr_scheduler import LRScheduler

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"expected decay from 0 to 1, got {decay}")


def get_ema_avg_fn(decay=0.999):
    """avg_fn for AveragedModel: an exponential moving average."""
    _check_decay(decay)

    def ema(averaged, current, num_averaged):
        return decay * averaged + (1 - decay) * current

    return ema


def get_swa_avg_fn():
    """avg_fn for AveragedModel: the mean of all."""

    def mean(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return mean


def _for_lists(avg_fn):
    def update(averaged, current, num_averaged):
        with no_grad():
            for a, b in zip(averaged, current):
                a.copy_(avg_fn(a, b, num_averaged) if a.is_floating_point() else b)

    return update


def get_ema_multi_avg_fn(decay=0.999):
    """multi_avg_fn for AveragedModel: an exponential moving average, in place."""
    return _for_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """multi_avg_fn for AveragedModel: the mean of all, in place."""
    return _for_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a module, `module`, whose parameters are averages of those that update_parameters() saw.

    Args:
        model: the module.
        device: where the copy is; where the module is by default.
        avg_fn: avg_fn(average, parameter, number of averaged ones), returning the new average; the mean by default.
        multi_avg_fn: the same for lists, in place.
        use_buffers: whether buffers are averaged, too; they are copied otherwise.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel(): expected avg_fn or multi_avg_fn, got both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.zeros([], dtype=int64))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of `model` into the averages."""

        def averaged(m):
            return [*m.parameters(), *(m.buffers() if self.use_buffers else ())]

        ours, theirs, count = averaged(self.module), averaged(model), int(self.n_averaged)
        update = self.multi_avg_fn or _for_lists(self.avg_fn or get_swa_avg_fn())
        with no_grad():
            if count == 0:
                for a, b in zip(ours, theirs):
                    a.copy_(b)
            else:
                update([a.detach() for a in ours], [b.detach() for b in theirs], self.n_averaged)
            if not self.use_buffers:
                for a, b in zip(self.module.buffers(), model.buffers()):
                    a.copy_(b)
            self.n_averaged.add_(1)


def update_bn(loader, model, device=None):
    """Computes the running means and variances of batch normalization anew, from the batches of `loader`."""
    from shunt.nn.modules.batchnorm import _BatchNorm

    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not layers:
        return
    momenta = [m.momentum for m in layers]
    training = model.training
    model.train()
    for m in layers:
        m.reset_running_stats()
        m.momentum = None
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for m, momentum in zip(layers, momenta):
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the rate at the time to swa_lr in anneal_epochs epochs, along a cosine ("cos") or a line ("linear"); then
    constant."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR(): expected anneal_strategy to be 'cos' or 'linear', got {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR(): expected anneal_epochs to be an int of at least 0, got {anneal_epochs}")
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ValueError(
                f"SWALR(): expected a swa_lr for each of the {len(optimizer.param_groups)} param_groups, got "
                f"{len(rates)}"
            )
        for group, rate in zip(optimizer.param_groups, rates):
            group["swa_lr"] = rate
        self.anneal_epochs, self._strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _part(self, step):
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._strategy == "cos" else t

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(max(0, step - 1)), self._part(step)
        # The rate where it began, of which the one before is a mix with swa_lr.
        return [
            swa if before == 1 else (lr - before * swa) / (1 - before) * (1 - now) + swa * now
            for lr, swa in ((group["lr"], group["swa_lr"]) for group in self.optimizer.param_groups)
        ]
