"""DataLoader with processes: batches, seeds, exceptions, ends; and the samplers."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import OrderedDict
from types import MappingProxyType

import pytest

import shunt
from interrupts import take_interrupts
from shunt.utils.data import (
    ChainDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n, fails_at=None, error=ValueError):
        self.n, self.fails_at, self.error = n, fails_at, error

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.fails_at:
            raise self.error("no such example")
        return shunt.tensor([float(i), float(i * i)]), i


class Row(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))


class Facts(Dataset):
    """What a process knows of itself."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = get_worker_info()
        return (
            os.getpid(),
            info.id,
            info.num_workers,
            info.seed,
            shunt.initial_seed(),
            len(info.dataset),
            shunt.get_num_threads(),
        )


class Slow(Dataset):
    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 4

    def __getitem__(self, i):
        time.sleep(self.seconds if i == 1 else 0)
        return i


class Dies(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        os.kill(os.getpid(), signal.SIGKILL)


class Large(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return shunt.full((300_000,), float(i))


@pytest.mark.parametrize(
    "settings", [{}, {"drop_last": True}, {"batch_size": None}, {"shuffle": True}, {"prefetch_factor": 5}]
)
@pytest.mark.parametrize("workers", [1, 3])
def test_batches_are_those_of_one_process(workers, settings):
    def batches(**more):
        shunt.manual_seed(3)
        settings_here = {"batch_size": 4, **settings, **more}
        return [
            (x.tolist(), i.tolist() if isinstance(i, shunt.Tensor) else i)
            for x, i in DataLoader(Squares(11), **settings_here)
        ]

    several = batches(num_workers=workers)
    if settings.get("shuffle"):
        assert sorted(i for _, batch in several for i in batch) == list(range(11))
    else:
        alone = {k: v for k, v in settings.items() if k != "prefetch_factor"}
        assert several == [
            (x.tolist(), i.tolist() if isinstance(i, shunt.Tensor) else i)
            for x, i in DataLoader(Squares(11), **{"batch_size": 4, **alone})
        ]


def test_a_row_of_examples_is_shared_out():
    loader = DataLoader(Row(10), batch_size=2, num_workers=3)
    assert sorted(i for batch in loader for i in batch.tolist()) == list(range(10))
    assert [batch.tolist() for batch in DataLoader(Row(5), batch_size=2, num_workers=1, drop_last=True)] == [
        [0, 1],
        [2, 3],
    ]
    assert [batch.tolist() for batch in DataLoader(Row(3), batch_size=2)] == [[0, 1], [2]]


def test_what_a_process_knows():
    shunt.manual_seed(1)
    rows = [row.tolist() for row in map(shunt.stack, DataLoader(Facts(), num_workers=2))]
    pids, ids, counts, seeds, initial, lengths, threads = zip(*((int(v[0]) for v in row) for row in rows))
    assert len(set(pids)) == 2 and os.getpid() not in pids
    assert ids == (0, 1, 0, 1) and set(counts) == {2} and set(lengths) == {4} and set(threads) == {1}
    assert seeds == initial and seeds[1] == seeds[0] + 1
    assert get_worker_info() is None


def _note(number):
    os.environ["NOTED"] = str(number + 7)


class Noted(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return int(os.environ["NOTED"])


def _bad_init(number):
    raise OSError("no disk")


def test_worker_init_fn():
    assert [int(x) for x in DataLoader(Noted(), num_workers=2, worker_init_fn=_note)] == [7, 8]
    with pytest.raises(OSError, match="(?s)Caught OSError in DataLoader worker process 0.*no disk"):
        next(iter(DataLoader(Noted(), num_workers=1, worker_init_fn=_bad_init)))


def test_persistent_workers_go_on():
    loader = DataLoader(Facts(), num_workers=2, persistent_workers=True)
    first = {int(x[0]) for x in loader}
    next(iter(loader))  # a pass that isn't finished
    assert {int(x[0]) for x in loader} == first
    assert [i.tolist() for _, i in DataLoader(Squares(3), num_workers=1, persistent_workers=True)] == [[0], [1], [2]]


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


class Throws(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, i):
        raise Odd("this", "that")


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError])
def test_an_exception_comes_out_with_its_text(error):
    iterator = iter(DataLoader(Squares(4, fails_at=1, error=error), num_workers=2))
    assert next(iterator)[1].tolist() == [0]
    with pytest.raises(error) as caught:
        next(iterator)
    text = str(caught.value)
    assert (
        f"Caught {error.__name__} in DataLoader worker process 1.\nOriginal Traceback" in text
        and "no such example" in text
    )
    assert "__getitem__" in text
    assert next(iterator)[1].tolist() == [2]  # the others go on


def test_an_exception_that_takes_more_than_a_text_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="(?s)Caught Odd.*this.*that"):
        next(iter(DataLoader(Throws(), num_workers=1)))


class Unpicklable(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, i):
        return lambda: i


def test_what_cant_be_sent_is_an_error_that_says_so():
    with pytest.raises((RuntimeError, AttributeError), match="(?s)in DataLoader worker process 0.*[pP]ickle"):
        next(iter(DataLoader(Unpicklable(), num_workers=1, batch_size=None)))


def test_timeout():
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="no batch came within timeout=0.3 seconds"):
        list(DataLoader(Slow(60), num_workers=1, timeout=0.3))
    assert time.monotonic() - started < 20
    assert [int(i) for i in DataLoader(Slow(0.05), num_workers=2, timeout=30)] == [0, 1, 2, 3]


def test_a_process_that_dies_is_an_error():
    with pytest.raises(RuntimeError, match=r"the worker of process \d+ was killed by signal Killed"):
        list(DataLoader(Dies(), num_workers=1))


class Waits(Dataset):
    """Whose example 1, of the second process, is made half a second after example 2, of the first."""

    def __init__(self, file):
        self.file = file

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 2:
            self.file.touch()
        while i == 1 and not self.file.exists():
            time.sleep(0.01)
        time.sleep(0.5 if i == 1 else 0)
        return i


def test_batches_as_they_are_ready(tmp_path):
    got = [int(i) for i in DataLoader(Waits(tmp_path / "made"), num_workers=2, in_order=False)]
    assert sorted(got) == [0, 1, 2, 3] and got.index(2) < got.index(1)
    assert [int(i) for i in DataLoader(Waits(tmp_path / "again"), num_workers=2)] == [0, 1, 2, 3]


def test_large_batches_and_an_end_before_the_last():
    loader = DataLoader(Large(), num_workers=2, batch_size=2)
    assert [batch[:, 0].tolist() for batch in loader] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    for batch in loader:
        break
    iterator = iter(loader)
    next(iterator)
    processes = [worker.process for worker in iterator._workers]
    del iterator
    assert not any(process.is_alive() for process in processes)


def test_spawn():
    loader = DataLoader(Squares(3), num_workers=1, multiprocessing_context="spawn")
    assert [i.tolist() for _, i in loader] == [[0], [1], [2]]


def run(program, tmp_path, **kwargs):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    return subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


PROGRAM = """
    import os, sys, time
    import shunt
    from shunt.utils.data import DataLoader, Dataset

    class Examples(Dataset):
        def __len__(self):
            return 1000
        def __getitem__(self, i):
            time.sleep(0.02)
            return os.getpid()

    iterator = iter(DataLoader(Examples(), num_workers=2))
    print(int(next(iterator)), int(next(iterator)), flush=True)
    """


def assert_gone(pids):
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {pids}")


@pytest.mark.parametrize("ending, code", [("", 0), ("raise SystemExit(3)", 3), ("os._exit(4)", 4), ("shunt.x", 1)])
def test_a_program_that_ends_leaves_no_process(tmp_path, ending, code):
    process = run(PROGRAM + ending + "\n", tmp_path)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert_gone(out.split())


def test_an_interrupt_ends_the_processes(tmp_path):
    process = run(PROGRAM + "for _ in iterator: pass\n", tmp_path, start_new_session=True, preexec_fn=take_interrupts)
    pids = process.stdout.readline().split()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and err.count("KeyboardInterrupt") == 1, err
    assert_gone(pids)


@pytest.mark.parametrize(
    "settings, error",
    [
        ({"num_workers": -1}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"prefetch_factor": 2}, ValueError),
        ({"num_workers": 1, "prefetch_factor": -1}, ValueError),
        ({"persistent_workers": True}, ValueError),
        ({"multiprocessing_context": "fork"}, ValueError),
        ({"num_workers": 1, "multiprocessing_context": "x"}, ValueError),
        ({"num_workers": 1, "multiprocessing_context": 3}, TypeError),
    ],
)
def test_settings_are_checked(settings, error):
    with pytest.raises(error):
        DataLoader(Squares(3), **settings)


def test_samplers():
    shunt.manual_seed(0)
    drawn = list(WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert drawn.count(0) == 0 and 0.2 < drawn.count(1) / 4000 < 0.3
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    assert sorted(SubsetRandomSampler([4, 7, 9])) == [4, 7, 9]
    for settings in ({"num_samples": 0}, {"num_samples": 2, "replacement": 3}):
        with pytest.raises(ValueError):
            WeightedRandomSampler([1.0], **settings)
    parts = [list(DistributedSampler(range(7), 3, rank)) for rank in range(3)]
    assert sorted(set(sum(parts, []))) == list(range(7)) and {len(p) for p in parts} == {3}
    with pytest.raises(ValueError):
        DistributedSampler(range(7), 3, 3)
    loader = DataLoader(
        TensorDataset(shunt.arange(4)), sampler=WeightedRandomSampler([0.0, 0.0, 1.0, 0.0], 5), batch_size=5
    )
    assert next(iter(loader))[0].tolist() == [2] * 5


def test_samplers_and_splits_of_little():
    with pytest.raises(ZeroDivisionError):
        list(RandomSampler([], num_samples=5))
    assert [len(part) for part in random_split([1], [0.5, 0.5])] == [1, 0]
    assert [len(part) for part in random_split([1], [1, 0])] == [1, 0]


def test_batches_are_containers_of_the_examples_type():
    class Attributes(OrderedDict):
        name = "none"

    class Words(list):
        pass

    first = Attributes(b=1, a=Words([2.0, 3.0]))
    first.name = "first"
    batch = default_collate([first, Attributes(b=4, a=Words([5.0, 6.0]))])
    assert type(batch) is Attributes and list(batch) == ["b", "a"] and batch.name == "first" and first["b"] == 1
    assert batch["b"].tolist() == [1, 4] and type(batch["a"]) is Words
    assert [t.tolist() for t in batch["a"]] == [[2.0, 5.0], [3.0, 6.0]] and first["a"] == [2.0, 3.0]
    fixed = default_collate([MappingProxyType({"x": 1}), MappingProxyType({"x": 2})])
    assert type(fixed) is MappingProxyType and fixed["x"].tolist() == [1, 2]
    assert [t.tolist() for t in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]
    assert type(default_collate([(1, 2), (3, 4)])) is list


def test_chained_and_stacked_datasets():
    assert list(ChainDataset([Row(2), Row(3)])) == [0, 1, 0, 1, 2] and list(Row(2) + Row(1)) == [0, 1, 0]
    pair = StackDataset([1, 2, 3], [4, 5, 6])
    assert pair[1] == (2, 5) and len(pair) == 3
    assert StackDataset(a=[1, 2], b=[3, 4])[0] == {"a": 1, "b": 3}
    with pytest.raises(ValueError):
        StackDataset([1], [2, 3])
