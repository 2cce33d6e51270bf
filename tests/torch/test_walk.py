"""Walks of whole programs: each kind of change to Python state breaks a guard, and what doesn't matter breaks none."""

import contextlib
import itertools
import random
import types

import pytest
import torch
from walking import Custom, X, changed, changed_by_call, fused_adam, make_custom, refusals, sgd, training_step, walk_of, watch

from shunt_torch.walk import walk

HERE = __file__


def global_path(name):
    return f"global {name} of {HERE}"


# Programs that change nothing.


MODULES = {
    "linear": lambda: torch.nn.Linear(3, 3),
    "custom": Custom,
    "lstm": lambda: torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
    "gru cell": lambda: torch.nn.GRUCell(3, 4),
    "batch norm": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.1)),
    "transformer": lambda: torch.nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0),
    "attention": lambda: torch.nn.TransformerDecoderLayer(3, 3, 8, batch_first=True),
}


@pytest.mark.parametrize("optimizer", [sgd, fused_adam])
@pytest.mark.parametrize("name", MODULES)
def test_training_changes_nothing(name, optimizer):
    model = MODULES[name]()
    if name == "attention":
        step = training_step(lambda x: model(x, x), optimizer(model))
    else:
        step = training_step(model, optimizer(model))
    result = walk_of(step, X)
    for _ in range(3):
        step(X)
        assert changed(result) == []
    found = [t for _, t in result.tensors]
    assert all(any(p is t for t in found) for p in itertools.chain(model.parameters(), model.buffers()))
    assert len({id(t) for t in found}) == len(found)


def test_finds_the_optimizer_s_state():
    model = torch.nn.Linear(3, 3)
    step = training_step(model, sgd(model))
    paths = [p for p, _ in walk_of(step, X).tensors]
    assert "model.weight" in paths
    assert "optimizer.state[model.weight]['momentum_buffer']" in paths


def test_distributions_inside_a_step():
    loc = torch.zeros(3)

    def step(x):
        d = torch.distributions.Normal(loc, 1.0)
        return d.log_prob(x).sum() + d.rsample().sum()

    result = walk_of(step, X)
    step(X)
    assert changed(result) == []
    assert ("loc", loc) in result.tensors


def test_a_distribution_held_outside():
    prior = torch.distributions.Normal(torch.zeros(3), torch.ones(3))

    def step(x):
        return prior.log_prob(x).sum()

    result = walk_of(step, X)
    assert {"prior.loc", "prior.scale"} == {p for p, _ in result.tensors}
    prior.loc = torch.ones(3)
    assert changed(result) == ["prior.loc"]


# What changes in a call: TORCH's list of things that a replay would not do.


def test_a_scheduler_step():
    model = torch.nn.Linear(3, 3)
    optimizer = sgd(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    train = training_step(model, optimizer)

    def step(x):
        loss = train(x)
        scheduler.step()
        return loss

    paths = changed_by_call(step, X)
    assert "scheduler.optimizer.param_groups[0]['lr']" in paths
    assert "scheduler.last_epoch" in paths


class Counter:
    def __init__(self):
        self.n = 0
        self.losses = []

    def count(self, x):
        self.n += 1
        return x + self.n

    def append(self, x):
        self.losses.append(x.sum())
        return x

    def make(self, x):
        self.__class__ = Counter2
        return x


class Counter2(Counter):
    pass


def test_a_counted_attribute():
    assert changed_by_call(Counter().count, X) == ["step.__self__.n"]


def test_a_list_of_losses():
    assert "len(step.__self__.losses)" in changed_by_call(Counter().append, X)


def test_an_attribute_that_the_call_makes():
    class Batch:
        pass

    def step(x, batch):
        batch.loss = x.sum()
        return batch.loss

    observed = watch(step, X, Batch())
    fresh = Batch()
    result = walk([("step", step), ("batch", fresh)], observed)
    assert changed(result) == []
    step(X, fresh)
    assert changed(result) == ["batch.loss"]


def test_a_tensor_attribute_that_the_call_makes():
    def step(x):
        WEIGHT.tag = 3
        return x

    observed = watch(step, X)
    del WEIGHT.tag
    result = walk([("step", step)], observed)
    step(X)
    assert "WEIGHT.tag" in changed(result)
    del WEIGHT.tag


WEIGHT = torch.ones(3)


def test_a_function_attribute():
    def step(x):
        step.calls += 1
        return x * step.calls

    step.calls = 0
    assert changed_by_call(step, X) == ["step.calls"]


def test_a_changed_class_of_an_instance():
    counter = Counter()
    result = walk_of(counter.count, X, calls=0)
    counter.__class__ = Counter2
    assert "step.__self__.__class__" in changed(result)


TOTAL = 0


def counts_in_a_global(x):
    global TOTAL
    TOTAL += 1
    return x * TOTAL


def test_a_counted_global():
    assert changed_by_call(counts_in_a_global, X) == [global_path("TOTAL")]


def makes_a_global(x):
    global MADE
    MADE = x
    return x


def test_a_global_that_the_call_makes():
    observed = watch(makes_a_global, X)
    del globals()["MADE"]
    result = walk([("step", makes_a_global)], observed)
    makes_a_global(X)
    assert changed(result) == [global_path("MADE")]


def test_a_counted_cell():
    n = 0

    def step(x):
        nonlocal n
        n += 1
        return x * n

    assert changed_by_call(step, X) == ["closure n of step"]


# What the caller changes.


def use_float(x):
    return x * SCALE


SCALE = 2.0


@pytest.mark.parametrize("value", [3.0, 2, True, "2.0", None])
def test_a_global_number(value, monkeypatch):
    result = walk_of(use_float, X)
    monkeypatch.setitem(globals(), "SCALE", value)
    assert changed(result) == [global_path("SCALE")]


def test_an_equal_number_is_the_same(monkeypatch):
    result = walk_of(use_float, X)
    monkeypatch.setitem(globals(), "SCALE", float("2.0"))
    assert changed(result) == []


def test_a_rebound_loss_function():
    loss_fn = torch.nn.functional.mse_loss

    def step(x):
        return loss_fn(x, x + 1)

    result = walk_of(step, X)
    loss_fn = torch.nn.functional.l1_loss
    assert changed(result) == ["closure loss_fn of step"]


def test_an_emptied_cell():
    held = 3

    def step(x):
        return x * held

    result = walk_of(step, X)
    del held
    assert changed(result) == ["closure held of step"]


def test_a_cell_filled_later():
    def step(x):
        return x if x is not None else held

    result = walk_of(step, X)
    held = 3
    assert changed(result) == ["closure held of step"]


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda m: setattr(m, "act", torch.nn.Tanh()), "model.act"),
        (lambda m: setattr(m, "scale", 3.0), "model.scale"),
        (lambda m: m.eval(), "model.training"),
        (lambda m: m.sizes.append(3), "len(model.sizes)"),
        (lambda m: m.sizes.__setitem__(0, 5), "model.sizes[0]"),
        (lambda m: setattr(m, "sizes", [1, 2]), "model.sizes"),
        (lambda m: setattr(m.fc, "weight", torch.nn.Parameter(torch.ones(3, 3))), "model.fc.weight"),
        (lambda m: setattr(m.fc, "bias", None), "model.fc.bias"),
        (lambda m: setattr(m, "mean", torch.ones(3)), "model.mean"),
        (lambda m: m.load_state_dict(m.state_dict(), assign=True), "model.fc.weight"),
        (lambda m: m.register_forward_hook(lambda *a: None), "keys of model._forward_hooks"),
        (lambda m: m.fc.register_forward_pre_hook(lambda *a: None), "keys of model.fc._forward_pre_hooks"),
        (lambda m: m.fc.register_full_backward_hook(lambda *a: None), "keys of model.fc._backward_hooks"),
        (lambda m: m.register_buffer("extra", torch.ones(1)), "model._buffers"),
        (lambda m: m.add_module("extra", torch.nn.ReLU()), "model._modules"),
        (lambda m: setattr(m, "forward", lambda x: x), "attributes of model"),
        (lambda m: setattr(m, "unknown", 1), "attributes of model"),
        (lambda m: setattr(m.fc, "__class__", torch.nn.Identity), "model.fc.__class__"),
        (lambda m: m.double(), None),  # the parameter stays; the core's guards see its dtype
        (lambda m: m.train(), None),
        (lambda m: m.register_state_dict_post_hook(lambda *a: None), None),
    ],
)
def test_modules(change, path):
    model, step = make_custom()
    result = walk_of(step, X)
    change(model)
    assert (path in changed(result)) if path else changed(result) in ([], ["model.mean"])


def test_replaced_parts_of_a_sequence():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    result = walk_of(lambda x: model(x), X)
    assert ("model[0].weight", model[0].weight) in [(p, t) for p, t in result.tensors if t is model[0].weight]
    model[1] = torch.nn.ReLU()
    assert changed(result) == ["model[1]"]


def test_global_hooks():
    _, step = make_custom()
    result = walk_of(step, X)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *a: None)
    assert changed(result) == ["keys of torch.nn.modules.module._global_forward_hooks"]
    handle.remove()
    assert changed(result) == []


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda o: o.param_groups[0].update(lr=0.2), "optimizer.param_groups[0]['lr']"),
        (lambda o: o.param_groups[0].update(extra=1), "keys of optimizer.param_groups[0]"),
        (lambda o: o.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]}), "len(optimizer.param_groups)"),
        (lambda o: o.state.clear(), "keys of optimizer.state"),
        (lambda o: o.register_step_post_hook(lambda *a: None), "keys of optimizer._optimizer_step_post_hooks"),
        (lambda o: o.load_state_dict(o.state_dict()), "optimizer.state"),
    ],
)
def test_optimizers(change, path):
    model = torch.nn.Linear(3, 3)
    optimizer = sgd(model)
    step = training_step(model, optimizer)
    result = walk_of(step, X)
    change(optimizer)
    assert path in changed(result)


# Attributes of modules that can't be walked.


class WithGenerator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.rng = [random.Random(1)]
        self.log = iter([])

    def forward(self, x):
        return self.fc(x)


class UsesGenerator(WithGenerator):
    def forward(self, x):
        return self.fc(x) if self.rng else x


def test_what_nobody_reads_of_a_module_may_be_unwalkable():
    assert refusals(WithGenerator(), X) == []


def test_what_code_names_of_a_module_may_not():
    assert ["step.rng[0]"] == [r.partition(":")[0] for r in refusals(UsesGenerator(), X)]


def test_an_object_met_first_where_nobody_reads_it():
    model = WithGenerator()
    other = types.SimpleNamespace(shared=model.rng)

    def step(x):
        return model(x) + len(other.shared)

    assert any("generator" in r for r in refusals(step, X))


def test_nothing_is_listed_twice_that_is_met_where_nobody_reads_it():
    model = WithGenerator()
    model.rng = [torch.ones(3)]
    other = types.SimpleNamespace(shared=model.rng)

    def step(x):
        return model(x) + len(other.shared)

    result = walk_of(step, X)
    names = [(g.kind, id(g.owner), repr(g.key)) for g in result.guards]
    assert len(set(names)) == len(names)
    assert len({id(t) for _, t in result.tensors}) == len(result.tensors)


def test_an_unreadable_attribute_replaced():
    model = WithGenerator()
    result = walk_of(model, X)
    model.log = iter([])
    assert changed(result) == ["step.log"]


def test_scripted_modules_are_refused():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(torch.nn.Linear(3, 3), X)

    def step(x):
        return x if model is None else x + 1

    assert "scripted" in refusals(step, X)[0]


def test_traced_graphs_of_fx():
    model, _ = make_custom()
    traced = torch.fx.symbolic_trace(model)
    result = walk_of(traced, X)
    traced.fc = torch.nn.Linear(3, 3)
    assert "step.fc" in changed(result)


# Order, size, speed.


def test_guards_of_owners_follow_those_that_lead_to_them():
    model, step = make_custom()
    held = set()
    for g in walk_of(step, X).guards:
        if g.path.startswith(("model.", "keys of model.", "attributes of model.", "len(model.")):
            assert id(g.owner) in held, g
        held.add(id(g.expected))


def test_each_guard_occurs_once():
    model, step = make_custom()
    guards = walk_of(step, X).guards
    names = [(g.kind, id(g.owner), repr(g.key)) for g in guards]
    assert len(set(names)) == len(names)


def test_a_large_model_has_few_guards():
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(200)])
    step = training_step(model, sgd(model))
    observed = watch(step, X)
    assert len(walk([("step", step)], observed).guards) < 200 * 45


def test_contexts_made_in_the_call():
    @contextlib.contextmanager
    def scaled():
        yield 2.0

    def step(x):
        with scaled() as s, torch.no_grad():
            return x * s

    assert changed_by_call(step, X) == []
