"""shunt.multiprocessing: spawn(), and tensors that go to other processes."""

import os
import signal
import time

import pytest

import shunt
from shunt import multiprocessing as mp


def _send(i, queue):
    queue.put(shunt.full((3,), float(i)))


def _fail(i):
    if i == 1:
        raise ValueError("no such rank")
    time.sleep(60)


def _die(i):
    os.kill(os.getpid(), signal.SIGTERM)


def _exit(i):
    os._exit(5)


def test_spawn_runs_a_function_in_processes():
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(_send, (queue,), nprocs=2)
    assert sorted(queue.get().tolist() for _ in range(2)) == [[0.0] * 3, [1.0] * 3]


def test_a_failure_ends_the_others():
    started = time.monotonic()
    with pytest.raises(
        mp.ProcessRaisedException, match="(?s)Process 1 terminated with the following error.*no such rank"
    ) as caught:
        mp.start_processes(_fail, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1 and time.monotonic() - started < 50


def test_how_a_process_ended():
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with signal SIGTERM") as caught:
        mp.start_processes(_die, start_method="fork")
    assert caught.value.exit_code == -signal.SIGTERM
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 5"):
        mp.start_processes(_exit, start_method="fork")


def test_pythons_names():
    a, b = mp.Pipe()
    a.send({"x": shunt.arange(3)})
    assert b.recv()["x"].tolist() == [0, 1, 2]
    context = mp.start_processes(_send, (mp.SimpleQueue(),), join=False, start_method="fork")
    assert len(context.pids()) == 1
    while not context.join(timeout=5):
        pass
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(ValueError):
        mp.set_sharing_strategy("x")
