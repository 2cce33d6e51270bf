"""Optimisers against PyTorch's own table: the same trajectories over 20 steps; errors; schedules; states."""

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


def trajectory(module, make, steps):
    generator = np.random.default_rng(3)
    weight = module.tensor(generator.standard_normal((4, 3)).tolist(), dtype=module.float64, requires_grad=True)
    bias = module.tensor(generator.standard_normal(3).tolist(), dtype=module.float64, requires_grad=True)
    x = module.tensor(generator.standard_normal((8, 4)).tolist(), dtype=module.float64)
    optimizer = make([weight, bias])
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = ((x @ weight + bias).tanh() ** 2).sum()
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
    theirs = trajectory(torch, lambda p: info.optim_cls(p, **kwargs), STEPS)
    ours = trajectory(shunt, lambda p: getattr(shunt.optim, info.optim_cls.__name__)(p, **{k: convert(v) for k, v in kwargs.items()}), STEPS)
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)


def errors():
    for info in ENTRIES:
        for place, error in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
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
    "StepLR": {"step_size": 3, "gamma": 0.5}, "MultiStepLR": {"milestones": [2, 5], "gamma": 0.1}, "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 7, "eta_min": 0.01}, "LinearLR": {"total_iters": 6}, "ConstantLR": {"total_iters": 4},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.9**epoch},
}


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


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"])
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


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"])
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
        assert all(isinstance(step, module.Tensor) and step.dtype is module.float32 and step.dim() == 0 for step in steps)
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


def test_a_rate_of_zero_changes_nothing():
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"):
        p = shunt.tensor([1.0, 2.0], requires_grad=True)
        p.grad = shunt.tensor([0.0, 1.0])
        getattr(shunt.optim, name)([p], lr=0.0).step()
        assert p.tolist() == [1.0, 2.0], name
