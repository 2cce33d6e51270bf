"""Tensors' objects under stress: classes with finalisers and slots, cycles, threads, fork, the interpreter's end."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

import shunt
from interrupts import take_interrupts


class Slotted(shunt.Tensor):
    __slots__ = ("label",)


class Finalised(shunt.Tensor):
    ended = []

    def __del__(self):
        self.ended.append(getattr(self, "label", None))


@pytest.fixture(autouse=True)
def clean():
    Finalised.ended.clear()
    yield
    gc.collect()


def held_by_cpp(tensor):
    """Something of C++ alone that holds the tensor: the grad of a leaf."""
    leaf = shunt.ones(tensor.shape, requires_grad=True)
    leaf.grad = tensor
    return leaf


def test_a_finaliser_runs_once_when_the_tensor_ends():
    x = Finalised([1.0])
    x.label = "a"
    del x
    assert Finalised.ended == ["a"]


def test_no_finaliser_runs_while_cpp_has_the_tensor():
    x = Finalised([1.0])
    x.label = "a"
    leaf = held_by_cpp(x)
    del x
    gc.collect()
    assert Finalised.ended == [] and leaf.grad.label == "a" and type(leaf.grad) is Finalised
    del leaf
    assert Finalised.ended == ["a"]


def test_a_finaliser_may_bring_its_tensor_back():
    saved = []

    class Returns(shunt.Tensor):
        def __del__(self):
            saved.append(self)

    x = Returns([1.0, 2.0])
    x.label = "a"
    del x
    assert saved[0].label == "a" and saved[0].tolist() == [1.0, 2.0]
    saved.clear()  # it has run, and does not again


def test_a_finaliser_may_give_its_tensor_to_cpp():
    leaf = shunt.ones(1, requires_grad=True)

    class Gives(shunt.Tensor):
        def __del__(self):
            leaf.grad = self.detach()

    x = Gives([5.0])
    del x
    assert leaf.grad.tolist() == [5.0]


def test_a_finaliser_sees_its_tensor_when_cpp_was_the_last_to_have_it():
    seen = []

    class Looks(shunt.Tensor):
        def __del__(self):
            seen.append((self.tolist(), self.stride(), self.label))

    x = Looks([[1.0, 2.0], [3.0, 4.0]])
    x.label = "a"
    leaf = held_by_cpp(x)
    del x
    leaf.grad = None
    assert seen == [([[1.0, 2.0], [3.0, 4.0]], (2, 1), "a")]


def test_slots_are_freed_and_kept():
    class Marker:
        pass

    x = Slotted([1.0])
    x.label = Marker()
    gone = weakref.ref(x.label)
    leaf = held_by_cpp(x)
    del x
    gc.collect()
    assert leaf.grad.label is gone()
    leaf.grad = None
    assert gone() is None


@pytest.mark.parametrize("cls", [shunt.Tensor, Slotted, Finalised])
def test_cycles_are_collected(cls):
    class Marker:
        pass

    x = cls([1.0])
    x.label = Marker()
    x.label.tensor = x
    gone = weakref.ref(x.label)
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("cls", [shunt.Tensor, Slotted, Finalised])
def test_cycles_of_a_tensor_that_cpp_has_are_not(cls):
    class Marker:
        pass

    x = cls([1.0])
    x.label = Marker()
    x.label.tensor = x
    leaf = held_by_cpp(x)
    del x
    for _ in range(3):
        gc.collect()
    assert leaf.grad.label.tensor is leaf.grad
    gone = weakref.ref(leaf.grad.label)
    leaf.grad = None
    gc.collect()
    assert gone() is None


def test_weak_references_with_callbacks():
    events = []
    x = shunt.ones(1)
    reference = weakref.ref(x, lambda r: events.append(r() is None))
    leaf = held_by_cpp(x)
    del x
    assert reference() is leaf.grad and events == []
    leaf.grad = None
    assert reference() is None and events == [True]


def test_weak_dictionaries():
    cache = weakref.WeakKeyDictionary()
    x = shunt.ones(1)
    cache[x] = "kept"
    assert cache[x] == "kept"
    del x
    assert len(cache) == 0
    values = weakref.WeakValueDictionary()
    values["x"] = y = shunt.ones(1)
    assert values["x"] is y


def test_long_chains_of_attributes_end_without_recursion():
    x = shunt.ones(1)
    for _ in range(100_000):
        y = shunt.ones(1)
        y.previous = x
        x = y
    del x, y


def test_long_chains_of_graphs_end_without_recursion():
    x = shunt.ones(1, requires_grad=True)
    for _ in range(100_000):
        x = x * 1.0
    del x


def test_tensors_dropped_on_another_thread():
    class Marker:
        pass

    markers = []
    tensors = []
    for i in range(100):
        x = Finalised([float(i)])
        x.marker = Marker()
        markers.append(weakref.ref(x.marker))
        tensors.append(held_by_cpp(x))
    del x
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert all(m() is None for m in markers) and len(Finalised.ended) == 100


def test_threads_that_pass_tensors_to_each_other():
    leaves = [shunt.ones(3, requires_grad=True) for _ in range(4)]
    problems = []
    stop = time.monotonic() + 1.0

    def work(seed):
        try:
            i = seed
            while time.monotonic() < stop:
                i = (i * 1103515245 + 12345) % 2**31
                leaf = leaves[i % 4]
                x = shunt.full((3,), float(i % 7))
                if i % 3:
                    x.label = [x] if i % 5 == 0 else i
                if i % 2:
                    leaf.grad = x
                got = leaf.grad
                if got is not None and got.shape != (3,):
                    problems.append(got.shape)
                if got is not None and hasattr(got, "label") and not isinstance(got.label, (list, int)):
                    problems.append(got.label)
                big = shunt.ones(20_000)  # long enough to release the lock
                (big * 2).label = big
        except Exception as error:  # noqa: BLE001  reported by the test
            problems.append(error)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems


def test_the_collector_while_threads_keep_tensors():
    """Saving a tensor for a gradient adds references while the lock is free; the collector sees one answer a run."""
    class Marker:
        pass

    x = shunt.ones(50_000, requires_grad=True)
    x.label = Marker()
    x.label.tensor = x
    stop = time.monotonic() + 1.0

    def work():
        while time.monotonic() < stop:
            (x * x).sum().backward()

    thread = threading.Thread(target=work)
    thread.start()
    while time.monotonic() < stop:
        gc.collect()
        assert x.label.tensor is x
    thread.join()


def run(code, *options, status=0, **kwargs):
    done = subprocess.run([sys.executable, *options, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                          timeout=120, **kwargs)
    assert done.returncode == status, done.stderr
    return done


# In a process of its own, without the compiler, whose memory comes late and stays.
RESIDENT = """
    import copy, gc, os, shunt
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    class Sub(shunt.Tensor):
        __slots__ = ("label",)
    def some(n):
        for i in range(n):
            WORK
    some(FEW)
    gc.collect()
    before = resident()
    some(MANY)
    gc.collect()
    print(resident() - before)
"""

MANY = {
    "tensors": (500_000, "x = shunt.ones(8); y = x + 1"),
    "attributes": (100_000, "x = shunt.ones(8); x.label = [i]; x.label.append(x) if i % 10 == 0 else None"),
    "classes": (50_000, "x = Sub([1.0, 2.0]); x.label = [x] if i % 10 == 0 else i; x.other = x.label"),
    "lists": (50_000, "shunt.tensor([[1.0, 2.0], [3.0, 4.0]]).tolist()"),
    "buffers": (50_000, "x = shunt.frombuffer(bytearray(16), dtype=shunt.float32); memoryview(x).release()"),
    "dlpack": (50_000, "x = shunt.ones(3); shunt.from_dlpack(x); x.__dlpack__(); shunt.from_dlpack(x.__dlpack__())"),
    "storages": (50_000, "x = shunt.ones(3); x.untyped_storage(); copy.copy(x)"),
    "gradients": (20_000, "x = shunt.ones(3, requires_grad=True); (x * 2).sum().backward(); x.grad"),
    "facts": (50_000, "x = shunt.ones(3); x.shape, x.dtype, x.device, x.stride(), x.grad_fn, x.data"),
    "texts": (2_000, "repr(shunt.ones(3))"),
    "errors": (20_000, """
            try:
                shunt.tensor([1, "a"])
            except TypeError:
                pass"""),
}


@pytest.mark.parametrize("what", MANY)
def test_no_memory_stays(what):
    many, work = MANY[what]
    code = RESIDENT.replace("WORK", work).replace("FEW", str(many // 10)).replace("MANY", str(many))
    done = run(code, env={**os.environ, "SHUNT_JIT": "0"})
    assert int(done.stdout) < 2**20, done.stdout


def test_references_of_constants_stay():
    dtype, cls = shunt.float32, shunt.Tensor
    x = shunt.ones(1)
    before = sys.getrefcount(dtype), sys.getrefcount(cls), sys.getrefcount(Slotted)
    for _ in range(1000):
        shunt.ones(1, dtype=dtype).dtype
        cls(1)
        Slotted(1)
        x.to(dtype)
        shunt.tensor(1.0, dtype=dtype)
    after = sys.getrefcount(dtype), sys.getrefcount(cls), sys.getrefcount(Slotted)
    assert all(abs(a - b) < 300 for a, b in zip(after, before))


END = """
    import shunt, threading, time, atexit
    class Sub(shunt.Tensor):
        __torch_function__ = shunt._C._disabled_torch_function_impl  # else the sum is a Sub, which ends in turn
        def __del__(self):
            assert self.tolist() == [1.0, 2.0]
    kept = Sub([1.0, 2.0])
    kept.label = kept
    leaf = shunt.ones(2, requires_grad=True)
    leaf.grad = Sub([1.0, 2.0])
    leaf.grad.label = [leaf]
    graph = (leaf * kept.detach()).sum()
    atexit.register(lambda: shunt.ones(3).sum().item())
    BODY
"""


@pytest.mark.parametrize("options", [(), ("-X", "dev"), ("-O",)], ids=str)
def test_the_interpreter_ends_with_live_tensors(options):
    done = run(END.replace("BODY", "print('end')"), *options)
    assert done.stdout == "end\n" and "Error" not in done.stderr, done.stderr


@pytest.mark.parametrize("work", ["(big * 2).sum()", "leaf.grad = shunt.ones(2)", "shunt.tensor([1.0] * 50)",
                                  "repr(leaf)",
                                  "x = (leaf * 2).sum(); x.backward()"])
def test_the_interpreter_ends_with_live_threads(work):
    body = f"""
    big = shunt.ones(100_000)
    def loop():
        while True:
            {work}
    for _ in range(4):
        threading.Thread(target=loop, daemon=True).start()
    time.sleep(0.05)
    """
    for _ in range(5):
        run(END.replace("BODY", textwrap.indent(textwrap.dedent(body), "    ").strip()))


def test_the_interpreter_ends_while_finalisers_run():
    code = """
        import shunt, threading, time
        class Last:
            def __del__(self):
                shunt.ones(2).sum()
        class Sub(shunt.Tensor):
            pass
        leaves = [shunt.ones(3, requires_grad=True) for _ in range(4)]
        def loop():
            while True:
                for leaf in leaves:
                    grad = Sub([1.0, 2.0, 3.0])
                    grad.last, grad.circle = Last(), [grad]
                    leaf.grad = grad
        for _ in range(4):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.05)
    """
    for _ in range(8):
        run(code)


def test_fork():
    run("""
        import os, shunt
        x = shunt.ones(100_000, requires_grad=True)
        (x * 2).sum().backward()
        children = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                y = (x * 3).sum()
                y.backward()
                ok = x.grad[0].item() == 5.0 and shunt.tensor([1.0]).item() == 1.0
                os._exit(0 if ok else 1)
            children.append(pid)
        assert all(os.waitpid(c, 0)[1] == 0 for c in children)
        assert x.grad[0].item() == 2.0
    """)


def test_a_long_loop_can_be_interrupted():
    code = textwrap.dedent("""
        import shunt
        x = shunt.ones(1000)
        print("begins", flush=True)
        try:
            while True:
                x = x * 1.0
        except KeyboardInterrupt:
            print("interrupted")
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, preexec_fn=take_interrupts)
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n" and process.returncode == 0


STRESS = ["test_tensor_object.py", "test_pickle.py", "test_dlpack.py", "test_numpy.py"]


@pytest.mark.parametrize("options", [("-X", "dev", "-W", "ignore"), ()], ids=["dev", "often"])
def test_others_with_a_collection_at_every_step(options, tmp_path):
    """The other tests of this folder with Python's checks of memory, and with the collector run as often as can be."""
    folder = os.path.dirname(__file__)
    (tmp_path / "conftest.py").write_text("import gc\ngc.set_threshold(1)\n" if not options else "")
    files = [os.path.join(folder, name) for name in STRESS[:2 if not options else 4]]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *options, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", "-c", os.devnull,
               "-p", "conftest", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode in (0, 5), done.stdout[-3000:] + done.stderr[-3000:]
