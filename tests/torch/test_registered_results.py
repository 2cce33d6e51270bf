"""Captured functions that return objects of classes that torch.utils._pytree knows: each replay makes a new one, as eager code does."""

import collections
import dataclasses
import warnings
from types import SimpleNamespace

import pytest
import torch
from capturing import same_as_eager

import shunt_torch


class Pair:
    made = 0

    def __init__(self, first, second, label="pair"):
        self.first, self.second, self.label = first, second, label


class Slotted:
    __slots__ = ("value", "scale")

    def __init__(self, value, scale):
        self.value, self.scale = value, scale


@dataclasses.dataclass
class Losses:
    loss: torch.Tensor
    parts: dict
    step: int = 3


class Forgetful:
    """Its flattening leaves out `note`."""

    def __init__(self, value, note=None):
        self.value, self.note = value, note


register = torch.utils._pytree.register_pytree_node
register(Pair, lambda p: ([p.first, p.second], [p.label, {"version": 1}]), lambda c, context: Pair(*c, context[0]))
register(Slotted, lambda s: ([s.value], (s.scale,)), lambda c, context: Slotted(c[0], context[0]))
register(Losses, lambda s: ([s.loss, s.parts], s.step), lambda c, context: Losses(*c, context))
register(Forgetful, lambda f: ([f.value], None), lambda c, context: Forgetful(c[0]))


def leaves_of(value):
    leaves, structure = torch.utils._pytree.tree_flatten(value)
    return leaves, repr(structure)


def program(result):
    """A program whose step returns what `result` makes of its tensors."""
    def make():
        p = SimpleNamespace(weight=torch.randn(3))

        def step(x):
            y = x * p.weight
            return result(y, x)

        p.step = step
        return p
    return make


def drive(p):
    return [leaves_of(p.step(torch.full((3,), float(i)))) for i in range(8)]


@pytest.mark.parametrize("result", [
    lambda y, x: Pair(y, y + 1),
    lambda y, x: Pair(y, x, "the argument"),
    lambda y, x: Pair(y, y),
    lambda y, x: Slotted(y, 2.5),
    lambda y, x: Losses(y.sum(), {"a": y, "b": [y + 1, None, "text"]}),
    lambda y, x: {"nested": [Pair(Losses(y.sum(), {}), (y,))]},
    lambda y, x: collections.OrderedDict(b=y, a=y * 2),
    lambda y, x: collections.deque([y, y + 1], maxlen=3),
])
def test_same_as_eager(result):
    step = same_as_eager(program(result), drive, check="always")
    assert step._recordings and step._recordings[0].runs > 2, step.explain()


def test_each_replay_makes_a_new_object():
    step = shunt_torch.capture(program(lambda y, x: Pair(y, x))().step, check="never")
    arguments = [torch.full((3,), float(i)) for i in range(8)]
    results = [step(x) for x in arguments]
    assert step._recordings[0].runs >= 4
    assert len({id(r) for r in results}) == len(results) and all(type(r) is Pair for r in results)
    assert all(r.second is x for r, x in zip(results, arguments))
    results[-1].label = "changed"
    assert step(arguments[0]).label == "pair"


class Keeping:
    """Keeps the context that it is rebuilt from."""

    def __init__(self, value, options):
        self.value, self.options = value, options


register(Keeping, lambda k: ([k.value], k.options), lambda c, context: Keeping(c[0], context))
OPTIONS = {"sizes": [1, 2]}


def test_each_result_has_a_context_of_its_own():
    step = shunt_torch.capture(program(lambda y, x: Keeping(y, {"sizes": [1, 2]}))().step, check="never")
    for _ in range(8):
        kept = step(torch.ones(3))
        assert kept.options == {"sizes": [1, 2]}
        kept.options["sizes"].append(3)
    assert step._recordings[0].runs > 2


def refusal_of(step, *args):
    step = shunt_torch.capture(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(8):
            step(*args)
    assert not step._recordings
    return step.explain()


def test_what_flattening_leaves_out_is_refused():
    assert "leaves out attribute 'note'" in refusal_of(lambda x: Forgetful(x * 2, "kept"), torch.ones(2))

    def with_more(x):
        pair = Pair(x * 2, x)
        pair.more = 1
        return pair

    assert "leaves out some attributes" in refusal_of(with_more, torch.ones(2))


def test_objects_that_are_elsewhere_are_refused():
    kept = Pair(torch.ones(2), torch.zeros(2))
    assert "is elsewhere, too" in refusal_of(lambda x: (x * 2, kept), torch.ones(2))

    def twice(x):
        pair = Pair(x * 2, x + 1)
        return pair, pair

    assert "is elsewhere, too" in refusal_of(twice, torch.ones(2))
    assert "is elsewhere, too" in refusal_of(lambda pair, x: [pair, x * 2], kept, torch.ones(2))
    assert "dict that is elsewhere, too" in refusal_of(lambda x: Keeping(x * 2, OPTIONS), torch.ones(2))


def test_other_classes_are_refused():
    class Unknown:
        def __init__(self, value):
            self.value = value

    assert "the result is a Unknown, and results have to be tensors" in refusal_of(lambda x: Unknown(x * 2), torch.ones(2))
    counts = "counts by identity"
    assert counts in refusal_of(lambda x: collections.defaultdict(list, a=x * 2), torch.ones(2))


def test_a_check_sees_another_class():
    from shunt_torch.comparison import made_of
    from shunt_torch.registered import Rebuilt

    template = Rebuilt(Pair, None, [0, 1], [("literal", "pair"), {"version": ("literal", 1)}])
    a, b = torch.ones(2), torch.zeros(2)
    assert [id(t) for t in made_of(template, Pair(a, b), [])] == [id(a), id(b)]
    for other in (Slotted(a, 1), Pair(a, b, "other"), Pair(a, 2)):
        with pytest.raises(ValueError):
            made_of(template, other, [])


def test_model_output():
    outputs = pytest.importorskip("transformers.modeling_outputs")

    def make():
        torch.manual_seed(1)
        p = SimpleNamespace(model=torch.nn.Linear(3, 4))

        @torch.no_grad()
        def step(x):
            y = p.model(x)
            return outputs.CausalLMOutput(loss=y.sum(), logits=y, hidden_states=(y, y + 1))

        p.step = step
        return p

    def drive(p):
        out = []
        for i in range(8):
            r = p.step(torch.full((2, 3), float(i)))
            assert type(r) is outputs.CausalLMOutput and r.loss is r["loss"] is r[0] and list(r) == ["loss", "logits", "hidden_states"]
            assert r.attentions is None and r.hidden_states[0] is r.logits
            out.append([r.loss, r.logits, *r.hidden_states])
        return out

    step = same_as_eager(make, drive, check="always")
    assert step._recordings and step._recordings[0].runs > 2, step.explain()
