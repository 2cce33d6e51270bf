"""Methods and the objects that they are of: a capture for each, which lives as long."""

import copy
import gc
import pickle
import weakref

import pytest
import shunt_torch
import torch
from capturing import recordings, replays


class Agent:
    def __init__(self, weight=1.0):
        self.model = torch.nn.Linear(2, 2)
        with torch.no_grad():
            self.model.weight.fill_(weight)
            self.model.bias.zero_()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    @shunt_torch.capture
    def train(self, x):
        """Decorated."""
        return self._train(x)

    def _train(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x).square().sum()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class SelfCaptured(Agent):
    def __init__(self):
        super().__init__()
        self.train = shunt_torch.capture(self._train)


class Reading(Agent):
    def __init__(self):
        super().__init__()
        self.train = shunt_torch.capture(lambda x: self._train(x).item())


X = torch.ones(3, 2)


def test_objects_in_turn():
    for weight in range(1, 13):
        agent, other = Agent(weight), Agent(weight)
        for _ in range(12):
            assert torch.equal(agent.train(X), other._train(X))
        assert recordings(agent.train) == 1 and replays(agent.train) == 9, agent.train.explain()
    assert recordings(Agent.train) == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [Agent, SelfCaptured, Reading])
def test_objects_are_collected(kind):
    """Also those whose capture was refused."""
    def run():
        agent = kind()
        for _ in range(8):
            agent.train(X)
        assert (replays(agent.train) == 5) == (kind is not Reading)
        return weakref.ref(agent), weakref.ref(agent.model)

    references = run()
    gc.collect()
    assert [r() for r in references] == [None, None]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))], ids=["copy", "deepcopy", "pickle"])
def test_copies_are_captured_by_themselves(copied):
    agent = Agent()
    for _ in range(6):
        agent.train(X)
    other = copied(agent)
    assert other.train is not agent.train
    expected = copied(agent)
    before = replays(agent.train)
    for _ in range(6):
        assert torch.equal(other.train(X), expected._train(X)) or copied is copy.copy  # which shares its model
    assert replays(other.train) == 3 and replays(agent.train) == before


def test_an_overridden_method_and_the_one_of_its_base():
    class Doubled(Agent):
        @shunt_torch.capture
        def train(self, x):
            return super().train(x) * 2

    agent, expected = Doubled(), Agent()
    for _ in range(8):
        assert torch.equal(agent.train(X), expected._train(X) * 2)
    assert replays(agent.train) == 5


def test_objects_without_a_dict():
    class Slots:
        __slots__ = ("weight",)

        @shunt_torch.capture
        def scaled(self, x):
            return x * self.weight

    for weight in (2.0, 3.0):
        scale = Slots()
        scale.weight = weight
        for _ in range(6):
            assert scale.scaled(X).tolist() == (X * weight).tolist()
    assert recordings(Slots.scaled) == 2


def test_attributes_of_a_captured_module():
    """Its parameters, and whether it trains, are the module's."""
    model = torch.nn.Linear(2, 3)
    captured = shunt_torch.capture(model)
    assert list(captured.parameters()) == list(model.parameters()) and not captured.eval().training and not captured.training
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        captured.nothing
