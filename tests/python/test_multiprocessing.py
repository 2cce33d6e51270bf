"""shunt.multiprocessing: spawn(), and tensors that go to other processes."""

import gc
import os
import pickle
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
        mp.ProcessRaisedException, match="(?s)process 1 raised an exception.*no such rank"
    ) as caught:
        mp.start_processes(_fail, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1 and time.monotonic() - started < 50


def test_how_a_process_ended():
    with pytest.raises(mp.ProcessExitedException, match="process 0 was ended by signal SIGTERM") as caught:
        mp.start_processes(_die, start_method="fork")
    assert caught.value.exit_code == -signal.SIGTERM
    with pytest.raises(mp.ProcessExitedException, match="process 0 ended with exit code 5"):
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


def _add(i, tensor, parameter, queue):
    tensor.add_(1)
    with shunt.no_grad():
        parameter.add_(10)
    is_parameter = type(parameter) is shunt.nn.Parameter and parameter.requires_grad
    queue.put((tensor.is_shared(), parameter.is_shared(), is_parameter))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_shared_memory_is_one_for_all_processes(method):
    tensor, parameter = shunt.arange(4.0)[1:], shunt.nn.Parameter(shunt.zeros(2))
    assert not tensor.is_shared() and not parameter.is_shared()
    assert tensor.share_memory_() is tensor and tensor.tolist() == [1.0, 2.0, 3.0] and tensor.is_shared()
    assert parameter.share_memory_() is parameter and parameter.requires_grad and parameter.is_leaf
    queue = mp.get_context(method).SimpleQueue()
    mp.start_processes(_add, (tensor, parameter, queue), nprocs=2, start_method=method)
    assert tensor.tolist() == [3.0, 4.0, 5.0] and parameter.tolist() == [20.0, 20.0]
    assert [queue.get() for _ in range(2)] == [(True, True, True)] * 2


def test_a_queue_hands_shared_memory_over():
    tensor = shunt.zeros(3).share_memory_()
    a, b = mp.Pipe()
    a.send(tensor)
    other = b.recv()
    other.add_(1)
    assert other.is_shared() and tensor.tolist() == [1.0] * 3
    copied = pickle.loads(pickle.dumps(tensor))
    copied.add_(1)
    assert not copied.is_shared() and tensor.tolist() == [1.0] * 3


def test_a_modules_memory():
    layer = shunt.nn.BatchNorm1d(2)
    assert layer.share_memory() is layer
    assert all(t.is_shared() for t in (*layer.parameters(), *layer.buffers()))
    assert layer(shunt.randn(4, 2)).shape == (4, 2)
    with pytest.raises(RuntimeError, match="CPU"):
        shunt.empty(2, device="meta").share_memory_()
    assert shunt.empty(0).share_memory_().shape == (0,)


def test_shared_memory_is_given_back():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        shunt.ones(1000).share_memory_()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
