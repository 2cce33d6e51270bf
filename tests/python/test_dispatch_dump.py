"""What shunt._C shows of the dispatcher, and the compiler's statistics."""

import pytest

import shunt
from shunt import _C


def test_dumps():
    text = _C._dispatch_dump("aten::add.Tensor")
    assert "aten::add.Tensor" in text and "CPU" in text
    both = _C._dispatch_dump("aten::add")
    assert "aten::add.Tensor" in both and "aten::add.Scalar" in both
    table = _C._dispatch_dump_table("aten::add.Tensor")
    assert "CPU" in table and "AutogradCPU" in table
    assert _C._dispatch_dump("aten::nothing_of_the_kind") == ""
    with pytest.raises(TypeError):
        _C._dispatch_dump(3)


def test_registrations_appear():
    library = shunt.library.Library("dumplib", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.clone(), "CPU")
    assert "test_dispatch_dump.py" in _C._dispatch_dump("dumplib::f")
    assert "dumplib::f" in _C._dispatch_get_all_op_names()
    assert _C._dispatch_get_registrations_for_dispatch_key("CPU").count("dumplib::f") == 1
    assert _C._dispatch_has_kernel_for_dispatch_key("dumplib::f", "CPU")
    assert not _C._dispatch_has_kernel_for_dispatch_key("dumplib::f", "CUDA")
    assert _C._dispatch_has_computed_kernel_for_dispatch_key("dumplib::f", "AutogradCPU")
    assert _C._dispatch_call_boxed("dumplib::f", shunt.ones(1)).tolist() == [1.0]
    _C._dispatch_check_invariants("dumplib::f")
    library._destroy()
    assert "dumplib::f" not in _C._dispatch_get_all_op_names()
    assert _C._dispatch_find_dangling_impls() == []
    _C._dispatch_check_all_invariants()


def test_keys_of_tensors():
    keys = _C._dispatch_keys(shunt.ones(2))
    assert keys.has("CPU") and keys.has(_C.DispatchKey.ADInplaceOrView) and not keys.has("CUDA")
    assert _C._dispatch_keys(shunt.ones(2).requires_grad_()).has("AutogradCPU")
    assert repr(keys).startswith("DispatchKeySet(") and "CPU" in repr(keys)
    assert _C._dispatch_keys(shunt.ones(2, device="meta")).has("Meta")


def test_keys():
    assert str(_C.DispatchKey.CPU) == "DispatchKey.CPU" and repr(_C.DispatchKey.CPU).startswith("<DispatchKey.CPU: ")
    assert _C._dispatch_key_name("AutogradCPU") == "AutogradCPU"
    assert _C._dispatch_key_parse("CPU") is _C.DispatchKey.CPU
    assert _C._parse_dispatch_key("nothing") is None
    assert _C._dispatch_key_for_device("cpu") == "CPU"
    a, b = _C.DispatchKeySet("CPU"), _C.DispatchKeySet(_C.DispatchKey.ADInplaceOrView)
    assert (a | b).has("CPU") and (a | b).has("ADInplaceOrView") and (a | b) - b == a and hash(a | b) == hash(b | a)
    assert not (a & b) and a.add("ADInplaceOrView") == a | b and (a | b).remove("ADInplaceOrView") == a
    assert _C.DispatchKeySet.from_raw_repr(a.raw_repr()) == a
    after = _C._dispatch_keyset_full_after("ADInplaceOrView")
    assert after.has("AutogradCPU") and not after.has("ADInplaceOrView") and not after.has("Python")
    assert "CPU" in (a | b).names()


def test_the_threads_keys():
    x = shunt.ones(2).requires_grad_()
    assert not _C._dispatch_tls_is_dispatch_key_excluded("AutogradCPU")
    with _C._ExcludeDispatchKeyGuard(_C.DispatchKeySet("AutogradCPU")):
        assert _C._dispatch_tls_is_dispatch_key_excluded("AutogradCPU")
        assert not (x * 2).requires_grad
        with _C._ExcludeDispatchKeyGuard(_C.DispatchKey.AutogradCPU):
            pass
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with _C._AutoDispatchBelowAutograd():
        assert not (x * 2).requires_grad
    assert _C._dispatch_tls_local_include_set().has("BackendSelect")
    with pytest.raises(KeyError), _C._AutoDispatchBelowAutograd():
        raise KeyError
    assert (x * 2).requires_grad
    with shunt.no_grad():
        with _C._ExcludeDispatchKeyGuard(_C.DispatchKeySet("AutogradCPU")):
            pass
    assert (x * 2).requires_grad


def test_unknown_names():
    with pytest.raises(AttributeError, match="_dispatch_nothing"):
        _C._dispatch_nothing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        shunt.nothing


def test_compiler():
    assert isinstance(shunt.jit.enabled(), bool)
    x = shunt.ones(16)
    for _ in range(50):
        x + x
    shunt.jit.wait_idle()
    stats = shunt.stats()
    assert isinstance(stats, dict) and "compiled" in stats and str(stats)
    assert isinstance(shunt.jit.invalidation_log(), list)
    before = shunt.jit.enabled()
    shunt.jit.set_enabled(False)
    assert not shunt.jit.enabled()
    shunt.jit.set_enabled(before)
    shunt.jit.clear()


def test_explanations():
    x = shunt.ones(2, 3)
    text = str(shunt.explain("aten::add.Tensor", x, x))
    assert "aten::add.Tensor" in text and "CPU" in text
    assert shunt.explain(shunt.ops.aten.add.Tensor, x, x)["op"] == "aten::add.Tensor"
    assert "add" in shunt.explain("add", x, x)["op"]
    assert "sum" in shunt.jit.explain(shunt.ops.aten.sum.dim_IntList, x, [1], keepdim=True)["op"]
    with pytest.raises(RuntimeError):
        shunt.explain("aten::add.Tensor", "a", x)
    with pytest.raises(TypeError):
        shunt.explain(3)
