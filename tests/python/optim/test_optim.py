"""Optimisers against PyTorch's own table: the same trajectories over 20 steps; errors; schedules; states."""

import io
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

import shunt  # noqa: E402

ENTRIES = [info for info in optim_db if hasattr(shunt.optim, info.optim_cls.__name__)]
STEPS = 20
TOLERANCE = {"rtol": 1e-8, "atol": 1e-10}  # float64: sums in another order, and square roots beside zero


def configurations():
    for info in ENTRIES:
        for place, sample in enumerate(info.optim_inputs_func(device="cpu")):
            yield pytest.param(info, sample.kwargs, id=f"{info.optim_cls.__name__}-{place}")


def convert(value):
    return shunt.tensor(value.item()) if isinstance(value, torch.Tensor) else value


def tanh_loss(x, weight, bias):
    return ((x @ weight + bias).tanh() ** 2).sum()


def square_loss(x, weight, bias):
    return ((x @ weight + bias - 1) ** 2).sum() / 8


def trajectory(module, make, steps, loss_of=tanh_loss):
    generator = np.random.default_rng(3)
    weight = module.tensor(generator.standard_normal((4, 3)).tolist(), dtype=module.float64, requires_grad=True)
    bias = module.tensor(generator.standard_normal(3).tolist(), dtype=module.float64, requires_grad=True)
    x = module.tensor(generator.standard_normal((8, 4)).tolist(), dtype=module.float64)
    optimizer = make([weight, bias])
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(x, weight, bias)
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        seen.append(np.concatenate([weight.detach().numpy().ravel(), bias.detach().numpy()]))
    return np.stack(seen)


@pytest.mark.parametrize("info, kwargs", list(configurations()))
def test_a_trajectory_is_pytorchs(info, kwargs):
    if kwargs.get("fused") or kwargs.get("differentiable"):
        kwargs = {k: v for k, v in kwargs.items() if k not in ("fused", "differentiable")}
    name = info.optim_cls.__name__
    # Its large steps make a rounding a difference, where the loss isn't convex.
    loss = square_loss if name == "LBFGS" else tanh_loss
    theirs = trajectory(torch, lambda p: info.optim_cls(p, **kwargs), STEPS, loss)
    ours = trajectory(shunt, lambda p: getattr(shunt.optim, name)(p, **{k: convert(v) for k, v in kwargs.items()}),
                      STEPS, loss)
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax",
                                  "ASGD", "Rprop"])
def test_gradients_of_steps_are_refused(name):
    params = [shunt.ones(1, requires_grad=True)]
    with pytest.raises(NotImplementedError, match=rf"{name}\(\): expected differentiable=False"):
        getattr(shunt.optim, name)(params, differentiable=True)
    getattr(shunt.optim, name)(params, differentiable=False)


def errors():
    for info in ENTRIES:
        for place, error in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            params = error.optimizer_error_input.params
            if any(isinstance(p, torch.Tensor) and p.is_complex() for p in params or ()):
                continue  # there are no complex numbers
            yield pytest.param(info, error, id=f"{info.optim_cls.__name__}-{place}")


@pytest.mark.parametrize("info, error", list(errors()))
def test_an_error_is_pytorchs(info, error):
    given = error.optimizer_error_input

    known = {}

    def convert_params(params):
        if isinstance(params, torch.Tensor):
            if id(params) not in known:
                known[id(params)] = shunt.from_numpy(params.detach().numpy().copy()).requires_grad_(params.requires_grad)
            return known[id(params)]
        if isinstance(params, dict):
            return {k: convert_params(v) if k == "params" else v for k, v in params.items()}
        return type(params)(convert_params(p) for p in params) if isinstance(params, (list, tuple)) else params

    params = [shunt.ones(1, requires_grad=True)] if given.params is None else convert_params(given.params)
    kwargs = {k: tuple(map(convert, v)) if isinstance(v, tuple) else
              shunt.tensor(v.tolist()) if isinstance(v, torch.Tensor) else v for k, v in given.kwargs.items()}
    if error.error_type is UserWarning:
        with pytest.warns(UserWarning):
            getattr(shunt.optim, info.optim_cls.__name__)(params, **kwargs)
        return
    with pytest.raises(error.error_type):
        optimizer = getattr(shunt.optim, info.optim_cls.__name__)(params, **kwargs)
        if str(error.error_on).endswith("STEP_ERROR"):
            optimizer.step()


SCHEDULES = {
    "StepLR": {"step_size": 3, "gamma": 0.5}, "MultiStepLR": {"milestones": [2, 5], "gamma": 0.1},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 7, "eta_min": 0.01}, "LinearLR": {"total_iters": 6},
    "ConstantLR": {"total_iters": 4},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.9**epoch},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9 + epoch / 100},
    "PolynomialLR": {"total_iters": 12, "power": 1.5},
    "CosineAnnealingWarmRestarts": {"T_0": 3, "T_mult": 2, "eta_min": 0.01},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "step_size_down": 5},
    "OneCycleLR": {"max_lr": 2.0, "total_steps": 21},
}


def rates_of(module, make, steps=20):
    """The learning rates and momenta of a schedule."""
    optimizer = module.optim.SGD([module.ones(1, requires_grad=True)], lr=0.5, momentum=0.6)
    schedule = make(module.optim.lr_scheduler, optimizer)
    seen = []
    for _ in range(steps):
        seen.append((schedule.get_last_lr()[0], optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
        optimizer.step()
        schedule.step()
    return np.array(seen)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda L, o: L.CyclicLR(o, 0.1, 1.0, 3, mode="triangular2"), lambda L,
    o: L.CyclicLR(o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9),
    lambda L, o: L.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    lambda L, o: L.OneCycleLR(o, 2.0, epochs=4, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"),
    lambda L, o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], [5]),
    lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=4), L.CosineAnnealingLR(o, 9), L.StepLR(o, 2)],
                                [5, 11]),
    lambda L, o: L.SequentialLR(o, [L.LinearLR(o), L.CosineAnnealingWarmRestarts(o, 3)], [4]),
    lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], o),
])
def test_other_schedules_are_pytorchs(make):
    np.testing.assert_allclose(rates_of(shunt, make), rates_of(torch, make), rtol=1e-12)


def test_batch_normalization_is_brought_up_to_the_averages():
    seen = {}
    for module in (torch, shunt):
        layer = module.nn.BatchNorm1d(2)
        batches = [module.tensor([[1.0, 2.0], [3.0, 5.0]]), module.tensor([[4.0, 4.0], [7.0, 9.0]])]
        module.optim.swa_utils.update_bn([(batch, 0) for batch in batches], module.nn.Sequential(layer).eval())
        seen[module] = layer.running_mean.tolist(), layer.running_var.tolist(), layer.momentum, layer.training
    assert seen[shunt] == seen[torch]


@pytest.mark.filterwarnings("ignore")
def test_averages_of_weights():
    seen = {}
    for module in (torch, shunt):
        swa = module.optim.swa_utils
        layer = module.nn.Linear(2, 1, bias=False)
        optimizer = module.optim.SGD(layer.parameters(), lr=0.5)
        schedule = swa.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
        models = [swa.AveragedModel(layer), swa.AveragedModel(layer, multi_avg_fn=swa.get_ema_multi_avg_fn(0.7))]
        rates = []
        for step in range(6):
            with module.no_grad():
                layer.weight.fill_(float(step * step))
            for model in models:
                model.update_parameters(layer)
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr()[0])
        seen[module] = [rates, *(m.module.weight.tolist() for m in models), int(models[0].n_averaged),
                        sorted(models[0].state_dict())]
    assert seen[shunt][0] == pytest.approx(seen[torch][0])
    assert seen[shunt][1][0] == pytest.approx(seen[torch][1][0]) and seen[shunt][2][0] == pytest.approx(seen[torch][2][0])
    assert seen[shunt][3:] == seen[torch][3:]


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_pytorchs(name):
    rates = {}
    for module in (torch, shunt):
        optimizer = module.optim.SGD([module.ones(1, requires_grad=True)], lr=0.5)
        schedule = getattr(module.optim.lr_scheduler, name)(optimizer, **SCHEDULES[name])
        rates[module] = []
        for _ in range(20):
            rates[module].append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
    assert rates[shunt] == pytest.approx(rates[torch], rel=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(SCHEDULES) - {"MultiplicativeLR"}))
def test_a_schedule_goes_to_any_epoch(name):
    """The rates of an epoch don't depend on how it was reached. MultiplicativeLR's do, in both packages."""
    rates = {}
    for module in (torch, shunt):
        optimizer = module.optim.SGD([module.ones(1, requires_grad=True)], lr=0.5, momentum=0.9)
        schedule = getattr(module.optim.lr_scheduler, name)(optimizer, **SCHEDULES[name])
        rates[module] = []
        for epoch in (5, 15, 3, 0, 12, None, 1):
            schedule.step(epoch)
            rates[module].append(schedule.get_last_lr()[0])
    assert rates[shunt] == pytest.approx(rates[torch], rel=1e-12)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau_of_metrics_that_are_no_numbers(mode, threshold_mode):
    rates = {}
    for module in (torch, shunt):
        optimizer = module.optim.SGD([module.ones(1, requires_grad=True)], lr=1.0)
        schedule = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode, patience=1,
                                                               threshold_mode=threshold_mode)
        rates[module] = []
        for metric in [math.nan] * 6 + [math.inf, -math.inf, 1.0, math.nan, 2.0, math.inf]:
            schedule.step(metric)
            rates[module].append(optimizer.param_groups[0]["lr"])
    assert rates[shunt] == pytest.approx(rates[torch]) and rates[shunt][5] == pytest.approx(1e-3)


def test_plateau():
    rates = {}
    for module in (torch, shunt):
        optimizer = module.optim.SGD([module.ones(1, requires_grad=True)], lr=0.5)
        schedule = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, cooldown=1, min_lr=0.01)
        rates[module] = []
        for step in range(40):
            schedule.step(max(1.0, 5.0 - step) + 0.3 * math.sin(step))
            rates[module].append(optimizer.param_groups[0]["lr"])
    assert rates[shunt] == pytest.approx(rates[torch])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax",
                                  "ASGD", "Rprop",
                                  "Adafactor"])
def test_a_saved_state_goes_on(name):
    settings = {"lr": 0.05, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}

    def run(steps, optimizer, p):
        for _ in range(steps):
            optimizer.zero_grad()
            (p ** 4).sum().backward()
            optimizer.step()

    p, q = shunt.ones(3, requires_grad=True), shunt.ones(3, requires_grad=True)
    whole, first = getattr(shunt.optim, name)([p], **settings), getattr(shunt.optim, name)([q], **settings)
    run(10, whole, p)
    run(5, first, q)
    second = getattr(shunt.optim, name)([q], lr=1.0)
    second.load_state_dict(first.state_dict())
    run(5, second, q)
    assert p.tolist() == q.tolist()


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax", "Rprop"])
def test_parameters_that_are_left_out_of_steps(name):
    """Each parameter counts its own steps, also where most are counted together; a saved state has as many."""
    rows = {}
    for module in (torch, shunt):
        params = [module.ones(2, dtype=module.float64, requires_grad=True) for _ in range(3)]
        optimizer = getattr(module.optim, name)(params)
        for step in range(9):
            for i, p in enumerate(params):
                p.grad = None if (step + i) % 3 == 0 and step < 6 else module.full((2,), 0.5 + i + step, dtype=module.float64)
            if step == 5:
                state = optimizer.state_dict()
                optimizer = getattr(module.optim, name)(params)
                optimizer.load_state_dict(state)
            optimizer.step()
        steps = [optimizer.state[p]["step"] for p in params]
        assert all(isinstance(step,
                              module.Tensor) and step.dtype is module.float32 and step.dim() == 0 for step in steps)
        rows[module] = [p.tolist() for p in params], [step.item() for step in steps]
    assert rows[shunt][1] == rows[torch][1]
    np.testing.assert_allclose(rows[shunt][0], rows[torch][0], **TOLERANCE)


def test_steps_of_a_state_that_has_them_as_numbers():
    p = shunt.ones(2, requires_grad=True)
    optimizer = shunt.optim.Adam([p])
    optimizer.load_state_dict({"state": {0: {"step": 4, "exp_avg": shunt.ones(2), "exp_avg_sq": shunt.ones(2)}},
                               "param_groups": optimizer.state_dict()["param_groups"]})
    p.grad = shunt.ones(2)
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 5


def ones_with_grads(module, count):
    params = [module.ones(2, requires_grad=True) for _ in range(count)]
    for p in params:
        p.grad = module.ones(2)
    return params


def test_pytorch_counts_on_from_a_saved_state():
    params = ones_with_grads(shunt, 3)
    optimizer = shunt.optim.Adam(params)
    optimizer.step()
    saved = optimizer.state_dict()
    assert len({id(state["step"]) for state in saved["state"].values()}) == 3
    file = io.BytesIO()
    shunt.save(saved, file)
    file.seek(0)
    theirs = ones_with_grads(torch, 3)
    other = torch.optim.Adam(theirs)
    other.load_state_dict(torch.load(file))
    other.step()
    assert [other.state[p]["step"].item() for p in theirs] == [2, 2, 2]
    saved["state"][0]["step"] += 5
    assert [optimizer.state[p]["step"].item() for p in params] == [1, 1, 1]


def test_a_parameter_that_goes_to_another_group_counts_its_own_steps():
    counts = {}
    for module in (torch, shunt):
        a, b = params = ones_with_grads(module, 2)
        optimizer = module.optim.Adam(params)
        optimizer.step()
        optimizer.param_groups[0]["params"] = [a]
        optimizer.step()
        optimizer.add_param_group({"params": [b]})
        for _ in range(3):
            optimizer.step()
        counts[module] = [optimizer.state[p]["step"].item() for p in params]
    assert counts[shunt] == counts[torch] == [5, 4]


def test_a_parameter_in_another_groups_list_counts_its_own_steps():
    """Also where it shares the count of three, one of which has gone altogether."""
    counts = {}
    for module in (torch, shunt):
        a, b, c, d = params = ones_with_grads(module, 4)
        optimizer = module.optim.Adam([{"params": [a, b, c]}, {"params": [d]}])
        optimizer.step()
        optimizer.param_groups[0]["params"] = [a]
        optimizer.param_groups[1]["params"].append(b)
        for _ in range(3):
            optimizer.step()
        counts[module] = [optimizer.state[p]["step"].item() for p in params]
    assert counts[shunt] == counts[torch] == [4, 4, 1, 4]


@pytest.mark.parametrize("name", ["AdamW", "NAdam"])
def test_a_state_without_a_setting_takes_the_default(name):
    params = ones_with_grads(shunt, 1)
    optimizer = getattr(shunt.optim, name)(params)
    state = optimizer.state_dict()
    del state["param_groups"][0]["decoupled_weight_decay"]
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is (name == "AdamW")
    optimizer.step()
    names = shunt.optim.SGD([("weight", params[0])])
    unnamed = names.state_dict()
    del unnamed["param_groups"][0]["param_names"]
    names.load_state_dict(unnamed)
    assert names.param_groups[0]["param_names"] == ["weight"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["SGD", "LBFGS", "overriding", "calling the base"])
def test_hooks_of_steps(kind):
    seen = {}
    for module in (torch, shunt):
        class Overriding(module.optim.SGD):
            def step(self, closure=None):
                return closure()

        class Calling(module.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        p, = ones_with_grads(module, 1)
        kinds = {"overriding": Overriding, "calling the base": Calling}
        optimizer = (kinds.get(kind) or getattr(module.optim, kind))([p])
        calls = seen[module] = []

        def before(*given):
            assert given[0] is optimizer and given[1][0] is optimizer
            calls.append(("before", given[1][1:], given[2]))
            return (optimizer, lambda: module.ones(2).sum()), {}

        handles = [optimizer.register_step_pre_hook(before),
                   optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(("after", len(args))))]
        assert optimizer.step(None).item() == 2.0
        for handle in handles:
            handle.remove()
        optimizer.step(lambda: module.ones(2).sum())
        optimizer.register_step_pre_hook(lambda *given: 3)
        with pytest.raises(RuntimeError):
            optimizer.step(lambda: None)
    assert seen[shunt] == [("before", (None,), {}), ("after", 2)]
    # PyTorch calls them again from the base's step() where an instance of the base has been made before.
    assert kind == "calling the base" or seen[torch] == seen[shunt]


def test_a_rate_of_zero_changes_nothing():
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"):
        p = shunt.tensor([1.0, 2.0], requires_grad=True)
        p.grad = shunt.tensor([0.0, 1.0])
        getattr(shunt.optim, name)([p], lr=0.0).step()
        assert p.tolist() == [1.0, 2.0], name


_SCHEDULES_OF_TENSORS = {
    "ExponentialLR": {"gamma": 0.9},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "cycle_momentum": False},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 10, "cycle_momentum": False},
    "CosineAnnealingWarmRestarts": {"T_0": 4},
    "ReduceLROnPlateau": {"patience": 1},
    "SequentialLR": None,
}


@pytest.mark.parametrize("name", _SCHEDULES_OF_TENSORS)
def test_a_schedule_fills_a_rate_that_is_a_tensor(name):
    rates = []
    for lr in (shunt.tensor(0.05, dtype=shunt.float64), 0.05):
        optimizer = shunt.optim.SGD([shunt.ones(1, requires_grad=True)], lr=lr)
        settings, schedules = _SCHEDULES_OF_TENSORS[name], shunt.optim.lr_scheduler
        if settings is None:
            parts = [schedules.ConstantLR(optimizer, 0.1, 3), schedules.ExponentialLR(optimizer, 0.9)]
            schedule = schedules.SequentialLR(optimizer, parts, [3])
        else:
            schedule = getattr(schedules, name)(optimizer, **settings)
        found = []
        for _ in range(9):
            optimizer.step()
            schedule.step(*([1.0] if name == "ReduceLROnPlateau" else []))
            found.append(float(optimizer.param_groups[0]["lr"]))
        assert not isinstance(lr, shunt.Tensor) or optimizer.param_groups[0]["lr"] is lr
        rates.append(found)
    assert rates[0] == rates[1]
