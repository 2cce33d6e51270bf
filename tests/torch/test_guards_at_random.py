"""Guards drawn at random mean in C++ what shunt_torch/guard.py says, after changes drawn at random."""

import random
from collections import OrderedDict, deque

import pytest
from guarding import Hostile, HostileDict, HostileEnum, OBJECTS, VALUES, Watched, guard

from shunt_torch.guard import MISSING, has_plain_hash, keys_of


def random_value(r, depth=0):
    if depth < 2 and r.random() < 0.2:
        return tuple(random_value(r, depth + 1) for _ in range(r.randrange(3)))
    return r.choice([v for v in VALUES if "Hostile" not in repr(v)] + [HostileEnum.A, Hostile.__init__, OBJECTS[1]])


def random_key(r):
    while True:
        key = random_value(r)
        if has_plain_hash(key) and "slice" not in repr(key):
            return key


def random_dict(r):
    d = r.choice([dict, OrderedDict, HostileDict])()
    for _ in range(r.randrange(6)):
        change_dict(r, d)
    return d


def change_dict(r, d):
    choice = r.randrange(4)
    present = list(keys_of(d))
    if choice == 0 and present:
        (OrderedDict if isinstance(d, OrderedDict) else dict).pop(d, r.choice(present))
    elif choice == 1 and present and isinstance(d, OrderedDict):
        d.move_to_end(r.choice(present))
    else:
        d[r.choice(present) if present and choice == 2 else random_key(r)] = random_value(r)


def random_guards(r, owner):
    if isinstance(owner, dict):
        key = random_key(r)
        items = [guard("item", owner, k, v) for k, v in dict.items(owner)]
        return [guard("keys", owner, None, keys_of(owner)), *items] + ([guard("missing", owner, key)] if dict.get(owner, key, MISSING) is MISSING else [])
    if isinstance(owner, set):
        return [guard("set", owner, None, tuple(set.__iter__(owner)))]
    return [guard("length", owner, None, len(owner)), *(guard("index", owner, i, v) for i, v in enumerate(owner))]


def change(r, owner):
    if isinstance(owner, dict):
        return change_dict(r, owner)
    if isinstance(owner, set):
        return (set.add if r.random() < 0.5 else set.discard)(owner, random_key(r))
    value = random_value(r)
    if not owner or r.random() < 0.3:
        return owner.append(value)
    if r.random() < 0.3:
        return owner.pop()
    owner[r.randrange(len(owner))] = value


@pytest.mark.parametrize("seed", range(20))
def test_at_random(seed):
    r = random.Random(seed)
    held = failed = 0
    for _ in range(30):
        owners = [random_dict(r), random_dict(r), set(), [], deque()]
        for _ in range(4):
            change(r, r.choice(owners))
        guards = [g for o in owners for g in random_guards(r, o)]
        r.shuffle(guards) if r.random() < 0.3 else None
        watched = Watched(*guards)
        assert watched.holds()
        for _ in range(12):
            change(r, r.choice(owners))
            if watched.holds():
                held += 1
            else:
                failed += 1
                watched = Watched(*(g for o in owners for g in random_guards(r, o))) if r.random() < 0.7 else watched
    assert held > 10 and failed > 10
