"""TorchDispatchMode."""

import subprocess
import sys
import threading

import pytest

import shunt
from shunt.utils._python_dispatch import (TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode,
                                          _get_current_dispatch_mode_stack, _pop_mode_temporarily)

aten = shunt.ops.aten


class Recording(TorchDispatchMode):
    """Keeps what it sees: (operator, types, arguments by shape, keywords)."""

    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        shapes = [tuple(a.shape) if isinstance(a, shunt.Tensor) else a for a in args]
        self.calls.append((func, types, shapes, dict(kwargs)))
        return func(*args, **kwargs)

    def names(self):
        return [str(c[0]) for c in self.calls]


def seen(function):
    with Recording() as mode:
        function()
    return mode.calls


def test_operators_and_arguments():
    x = shunt.ones(3, 4)
    cases = [
        (lambda: x + 1, [(aten.add.Tensor, [(3, 4), 1], {})]),
        (lambda: x + x, [(aten.add.Tensor, [(3, 4), (3, 4)], {})]),
        (lambda: shunt.add(x, x, alpha=2), [(aten.add.Tensor, [(3, 4), (3, 4)], {"alpha": 2})]),
        (lambda: x * 2.5, [(aten.mul.Tensor, [(3, 4), 2.5], {})]),
        (lambda: x.sum(), [(aten.sum.default, [(3, 4)], {})]),
        (lambda: x.sum(0), [(aten.sum.dim_IntList, [(3, 4), [0]], {})]),
        (lambda: x.max(1), [(aten.max.dim, [(3, 4), 1], {})]),
        (lambda: shunt.mm(x, x.view(4, 3)), [(aten.view.default, [(3, 4), [4, 3]], {}),
                                             (aten.mm.default, [(3, 4), (4, 3)], {})]),
        (lambda: x.detach().neg_(), [(aten.detach.default, [(3, 4)], {}), (aten.neg_.default, [(3, 4)], {})]),
        (lambda: shunt.relu(x), [(aten.relu.default, [(3, 4)], {})]),
    ]
    for function, expected in cases:
        assert [(f, a, k) for f, _, a, k in seen(function)] == expected


def test_packets_as_the_documents_have_them():
    w = shunt.ones(4, 4)
    with Recording() as mode:
        shunt.mm(w, w)
        shunt.matmul(w, w)
    assert [c[0].overloadpacket for c in mode.calls] == [aten.mm, aten.mm]
    assert all(c[0].overloadpacket == shunt.ops.aten.mm and c[0] is aten.mm.default for c in mode.calls)


def test_composites_are_seen_as_their_parts():
    x, w, b = shunt.ones(2, 3), shunt.ones(4, 3), shunt.ones(4)
    names = [str(c[0]) for c in seen(lambda: shunt.nn.functional.linear(x, w, b))]
    assert "aten.linear.default" not in names and any("mm" in n for n in names)


def test_factories_are_seen():
    (func, types, args, kwargs), = seen(lambda: shunt.zeros(2, 3, dtype=shunt.int64))
    assert func is aten.zeros.default and args == [[2, 3]] and kwargs["dtype"] is shunt.int64 and types == ()


def test_results_may_be_replaced():
    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **kwargs)
            return shunt.zeros_like(result)

    with Zeros():
        assert (shunt.ones(3) + 1).tolist() == [0.0] * 3


def test_what_a_handler_computes_has_the_operators_gradient():
    class Negative(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert not any(isinstance(a, shunt.Tensor) and shunt.mul(a, 1).requires_grad for a in args)
            result = func(*args, **kwargs)
            return result.neg() if func is aten.mul.Tensor else result

    x = shunt.full((2,), 3.0).requires_grad_()
    with Negative():
        y = x * x
    assert y.tolist() == [-9.0, -9.0] and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_an_argument_as_the_result_keeps_its_history():
    class First(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    x = shunt.ones(2).requires_grad_()
    with First():
        y = x * 2
    assert x.is_leaf and y is not x and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_backward_runs_under_the_mode():
    x = shunt.ones(2).requires_grad_()
    y = x.sigmoid().sum()
    with Recording() as mode:
        y.backward()
    assert any("sigmoid" in n for n in mode.names())


def test_nesting():
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((self.name, str(func)))
            return func(*args, **kwargs)

    outer, inner = Named("outer"), Named("inner")
    x = shunt.ones(2)
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner] and _get_current_dispatch_mode() is inner
        x + x
    assert order == [("inner", "aten.add.Tensor"), ("outer", "aten.add.Tensor")]
    assert _get_current_dispatch_mode() is None and shunt._C._len_torch_dispatch_stack() == 0


def test_a_mode_is_off_in_its_handler():
    class Nested(TorchDispatchMode):
        def __init__(self):
            self.depth, self.calls = 0, 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            assert _get_current_dispatch_mode() is not self
            shunt.ones(2) * 3
            return func(*args, **kwargs)

    mode = Nested()
    with mode:
        shunt.ones(2)
    assert mode.calls == 1


def test_a_mode_may_be_entered_again_in_its_handler():
    class Again(TorchDispatchMode):
        calls = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls.append(str(func))
            if len(self.calls) == 1:
                with self:
                    args[0] * 2
            return func(*args, **kwargs)

    with Again() as mode:
        -_plain
    assert mode.calls == ["aten.neg.default", "aten.mul.Tensor"]


_plain = shunt.ones(2)


def test_exceptions_come_out_as_they_were():
    error = LookupError("mine")

    class Raising(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise error

    for call in (lambda: _plain + 1, lambda: _plain.sum(), lambda: aten.mm.default(shunt_eye, shunt_eye)):
        with pytest.raises(LookupError) as caught, Raising():
            call()
        assert caught.value is error
        assert shunt._C._len_torch_dispatch_stack() == 0
    assert (_plain + 1).tolist() == [2.0, 2.0]


shunt_eye = shunt.ones(2, 2)


@pytest.mark.parametrize("answer, kind, message", [
    (3, TypeError, "the result of Wrong.__torch_dispatch__: expected Tensor, got int"),
    ("text", TypeError, "expected Tensor, got str"),
    (NotImplemented, TypeError, "all __torch_dispatch__ handlers returned NotImplemented"),
])
def test_wrong_answers(answer, kind, message):
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return answer

    with Wrong():
        with pytest.raises(kind, match=message):
            _plain + 1
        with pytest.raises((RuntimeError, TypeError)):
            _plain.max(0)


def test_a_mode_without_a_handler():
    with pytest.raises(NotImplementedError), TorchDispatchMode():
        _plain + 1


def test_modes_can_be_off_for_a_block():
    with Recording() as outer, Recording() as inner:
        with _disable_current_modes() as modes:
            assert modes == [outer, inner] and shunt._C._len_torch_dispatch_stack() == 0
            _plain + 1
            with Recording() as other:
                _plain * 1
        _plain - 1
        with _pop_mode_temporarily() as mode:
            assert mode is inner
            -_plain
    assert other.names() == ["aten.mul.Tensor"]
    assert inner.names() == ["aten.sub.Tensor"] and outer.names() == ["aten.sub.Tensor", "aten.neg.default"]


def test_off_inside_of_a_handler():
    class Off(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with _disable_current_modes():
                _plain * 3
            return func(*args, **kwargs)

    with Recording() as outer, Off():
        _plain + 1
        _plain + 2
    assert outer.names() == ["aten.add.Tensor"] * 2


def test_a_handler_cannot_leave_modes_of_its_callers():
    class Leaving(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            shunt._C._pop_torch_dispatch_stack()

    with Recording() as outer:
        with Leaving(), pytest.raises(RuntimeError, match="can't be left inside"):
            _plain + 1
        _plain + 1
    assert outer.names() == ["aten.add.Tensor"]
    with pytest.raises(RuntimeError, match="no TorchDispatchMode is on"):
        shunt._C._pop_torch_dispatch_stack()


def test_what_a_handler_enters_and_does_not_leave_is_left():
    class Forgetful(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Recording().__enter__()
            return func(*args, **kwargs)

    with Forgetful():
        _plain + 1
        assert shunt._C._len_torch_dispatch_stack() == 1
    assert shunt._C._len_torch_dispatch_stack() == 0


def test_modes_are_a_threads_own():
    results = []

    def work(n):
        with Recording() as mode:
            for _ in range(n):
                _plain + 1
        results.append(len(mode.calls))

    threads = [threading.Thread(target=work, args=(n,)) for n in (50, 100, 150)]
    with Recording() as mine:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(results) == [50, 100, 150] and mine.calls == []


def test_item_and_autocast():
    with Recording() as mode:
        _plain.sum().item()
    assert mode.names()[-1] == "aten._local_scalar_dense.default"
    with Recording() as mode, shunt.autocast("cpu", dtype=shunt.bfloat16):
        shunt.mm(shunt_eye, shunt_eye)
    assert mode.calls[-1][0] is aten.mm.default


def test_against_pytorch():
    torch = pytest.importorskip("torch")
    import torch.utils._python_dispatch as torch_dispatch

    def trace(lib, mode_class):
        calls = []

        class Mode(mode_class):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                shapes = [tuple(a.shape) if hasattr(a,
                                                    "shape") else a for a in args if not isinstance(a, (list, tuple))]
                calls.append((str(func), shapes,
                              sorted(k for k in kwargs if k not in ("device", "pin_memory", "layout"))))
                return func(*args, **kwargs)

        x, v = lib.ones(3, 4), lib.ones(4)
        with Mode():
            y = x + 1
            y = y * 2 - x / 2
            y = lib.exp(y).sum(1)
            y.mean()
            x @ v
            lib.matmul(x, x.t())
            lib.cat([x, x], 1)
            lib.where(x > 0, x, x)
            x.clone()
            x.view(12)
            x.unsqueeze(0)
            x.argmax(1)
            lib.softmax(x, 1)
        return calls

    assert trace(shunt, TorchDispatchMode) == trace(torch, torch_dispatch.TorchDispatchMode)


ENDING = """
import threading, time
import shunt
from shunt.utils._python_dispatch import TorchDispatchMode

class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs)

library = shunt.library.Library("ending", "DEF")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x.clone(), "CPU")
x = shunt.ones(3)

def work():
    with Mode():
        try:
            while True:
                shunt.ops.ending.f(x) + 1
        except RuntimeError:  # the end withdraws the library; Python itself may die of a thread that prints meanwhile
            pass

threading.Thread(target=work, daemon=True).start()
Mode().__enter__()  # never left
time.sleep(0.2)
print("end")
"""


def test_the_end_of_a_process_with_modes_and_threads():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == "end\n", done.stderr


def test_a_thread_may_end_inside_of_a_block():
    thread = threading.Thread(target=lambda: Recording().__enter__())
    thread.start()
    thread.join()
    assert (_plain + 1).tolist() == [2.0, 2.0]
