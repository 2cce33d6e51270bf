"""Models of the package transformers, unmodified: captured steps have eager's bits, and compiled models those of backend "aot_eager".

Two of them, the quickest; with SHUNT_TEST_LONG=1 all nine, with and without attention masks.
"""

import importlib.util
import os
import warnings

import pytest
import torch
from capturing import bits
from judging import ALL, check_refusals, refusal_of
from transformers_models import CASES, make_batch, make_model

import shunt_torch

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="the package transformers isn't installed"),
    pytest.mark.filterwarnings("ignore"),
]
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
if not ALL:
    CASES = [("ViT", False), ("BERT", True)]
STEPS = 4
cases = pytest.mark.parametrize("name, masked", CASES, ids=[name + (" masked" if masked else "") for name, masked in CASES])
kinds = pytest.mark.parametrize("is_training", [False, True], ids=["inference", "training"])


def run(name, masked, is_training, steps, compiled=None, captured=None):
    """Results, then parameters, buffers, grads and the generator after some steps. `compiled`, `captured`: what to make of the model, and
    of the step."""
    model = make_model(name).train(is_training)
    call = model if compiled is None else compiled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def train(batch):
        optimizer.zero_grad()
        loss = call(**batch).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    def infer(batch):
        with torch.no_grad():
            out = call(**batch)
            return out.loss, out.logits

    step = train if is_training else infer
    step = step if captured is None else captured(step)
    torch.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [step(make_batch(name, masked, i)) for i in range(steps)]
    return bits([results, *model.parameters(), *model.buffers(), [p.grad for p in model.parameters()], torch.get_rng_state()])


@cases
@kinds
def test_captured(name, masked, is_training):
    """Two calls to warm up, one that is recorded, and four that are replayed."""
    captured = []

    def capture(step):
        captured.append(shunt_torch.capture(step, check="never"))
        return captured[0]

    steps = 3 + STEPS
    assert run(name, masked, is_training, steps, captured=capture) == run(name, masked, is_training, steps)
    refusal = refusal_of(captured[0])
    entry = f"{name}{' masked' if masked else ''}, {'training' if is_training else 'inference'}"
    check_refusals("transformers", entry, [refusal] if refusal else [])
    assert refusal or sum(r.runs for r in captured[0]._recordings) == STEPS, captured[0].explain()


@cases
@kinds
def test_compiled(name, masked, is_training):
    """The first calls of a graph are recorded and measured; that of the plan has to be the graph's result."""
    results = {}
    for backend in ("aot_eager", "shunt"):
        torch._dynamo.reset()
        results[backend] = run(name, masked, is_training, STEPS, compiled=lambda model: torch.compile(model, backend=backend))
    assert results["shunt"] == results["aot_eager"]
    assert "not recorded" not in shunt_torch.explain(), shunt_torch.explain()
    assert sum(k.recording.runs for g in shunt_torch.graph.graphs() for k in g._known.values() if k.recording is not None) > 0
    eager = run(name, masked, is_training, STEPS)
    if results["aot_eager"] == eager:
        assert results["shunt"] == eager
