"""shunt.ops: operators of the dispatcher as objects."""

import pickle

import pytest

import shunt

aten = shunt.ops.aten


def ones(*sizes):
    return shunt.ones(*sizes)


def test_names():
    op = aten.add.Tensor
    assert str(op) == "aten.add.Tensor" and op.name() == "aten::add.Tensor" and op.__name__ == "add.Tensor"
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert (op._opname, op._overloadname, op.namespace) == ("add", "Tensor", "aten")
    assert str(aten.add) == "aten.add" and repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
    assert aten.add.__name__ == "add" and aten.add._qualified_op_name == "aten::add"
    assert aten.mm.default.name() == "aten::mm" and str(aten.mm.default) == "aten.mm.default"


def test_there_is_one_object_for_an_operator():
    assert aten.add.Tensor is aten.add.Tensor and aten.add is shunt.ops.aten.add
    assert aten.add.Tensor.overloadpacket is aten.add
    assert aten.add.Tensor != aten.add.Scalar
    assert {aten.add.Tensor: 1}[aten.add.Tensor] == 1
    assert pickle.loads(pickle.dumps(aten.add.Tensor)) is aten.add.Tensor
    assert pickle.loads(pickle.dumps(aten.add)) is aten.add


def test_overloads():
    assert set(aten.add.overloads()) >= {"Tensor", "Scalar", "out"}
    assert "Tensor" in dir(aten.add) and "overloads" in dir(aten.add)
    assert list(aten.mm) == aten.mm.overloads()
    assert "add" in dir(aten) and "aten" in dir(shunt.ops)


def test_unknown_names():
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'reluu'; did you mean "
                                             "'relu'"):
        aten.reluu
    with pytest.raises(AttributeError, match="'nowhere' object has no attribute 'op'"):
        shunt.ops.nowhere.op
    with pytest.raises(AttributeError, match="'aten.add' has no overload name 'nothing'"):
        aten.add.nothing
    assert not hasattr(aten, "__wrapped__")


def test_calls():
    x = ones(2, 3)
    assert aten.add.Tensor(x, x).tolist() == [[2.0] * 3] * 2
    assert aten.add.Tensor(x, x, alpha=3).tolist() == [[4.0] * 3] * 2
    assert aten.add.Tensor(self=x, other=x).shape == (2, 3)
    assert aten.add(x, 1).tolist() == aten.add.Tensor(x, 1).tolist() == [[2.0] * 3] * 2
    assert aten.sum.dim_IntList(x, [1]).tolist() == [3.0, 3.0]
    assert aten.sum.dim_IntList(x, 1).tolist() == [3.0, 3.0]
    assert aten.sum(x, dtype=shunt.float64).dtype is shunt.float64
    assert type(aten.split.Tensor(x, 1)) is list and len(aten.split.Tensor(x, 1)) == 2
    values, indices = aten.max.dim(x, 1)
    assert values.tolist() == [1.0, 1.0] and indices.dtype is shunt.int64
    out = shunt.empty(0)
    assert aten.add.out(x, x, out=out) is out and out.shape == (2, 3)
    assert aten.zeros.default([2], dtype=shunt.int64, device="cpu").tolist() == [0, 0]
    assert aten.cat.default([x, x]).shape == (4, 3)
    y = ones(2)
    assert aten.add_.Tensor(y, y) is y


def test_calls_record_gradients():
    x = ones(3).requires_grad_()
    aten.mul.Tensor(x, x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_wrong_calls():
    x = ones(2)
    with pytest.raises(RuntimeError,
                       match=r"aten::relu\(\) Expected a value of type 'Tensor' for argument 'self' but instead "
                                           r"found type 'str'"):
        aten.relu.default("a")
    with pytest.raises(RuntimeError, match=r"aten::relu\(\) is missing value for argument 'self'"):
        aten.relu.default()
    with pytest.raises(RuntimeError, match=r"expected at most 1 argument\(s\) but received 2"):
        aten.relu.default(x, x)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'foo'"):
        aten.relu.default(foo=x)
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        aten.add("a")


def test_schema():
    schema = aten.add.out._schema
    assert str(schema) == "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    assert schema.name == "aten::add" and schema.overload_name == "out"
    rows = [(a.name, str(a.type), a.kwarg_only, a.default_value, a.is_out) for a in schema.arguments]
    assert rows == [("self", "Tensor", False, None, False), ("other", "Tensor", False, None, False),
                    ("alpha", "number", True, 1, False), ("out", "Tensor", True, None, True)]
    assert schema.arguments[3].alias_info.is_write and schema.arguments[0].alias_info is None
    assert schema.arguments[2].has_default_value() and not schema.arguments[0].has_default_value()
    assert str(aten.cat.default._schema.arguments[0].type) == "List[Tensor]"
    assert schema.is_mutable and not aten.add.Tensor._schema.is_mutable


def test_registrations():
    assert aten.add.Tensor.has_kernel_for_dispatch_key("CPU")
    assert aten.add.Tensor.has_kernel_for_dispatch_key(shunt._C.DispatchKey.CPU)
    assert not aten.add.Tensor.has_kernel_for_dispatch_key("PrivateUse1")
    assert aten.add.has_kernel_for_dispatch_key("CPU")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: 'GPU'"):
        aten.add.has_kernel_for_dispatch_key("GPU")


def test_redispatch_goes_to_the_kernel_of_the_keys():
    x = ones(2).requires_grad_()
    assert not aten.mul.Tensor.redispatch(shunt._C.DispatchKeySet("CPU"), x, x).requires_grad
    with pytest.raises(TypeError, match="DispatchKeySet"):
        aten.mul.Tensor.redispatch()


def test_attributes_may_be_set():
    aten.neg.default.note = 5
    assert aten.neg.default.note == 5
    del aten.neg.default.note


def test_decompose():
    x = ones(2, 3)
    assert aten.mm.default.decompose(x, x) is NotImplemented
    assert aten.linear.default.decompose(x, ones(4, 3)).shape == (2, 4)
