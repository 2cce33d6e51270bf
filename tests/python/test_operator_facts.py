"""What operators say of themselves, against PyTorch: their packet, tags and types."""

import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402

OPERATORS = ["add.Tensor", "add_.Tensor", "add.out", "bernoulli.p", "cat.default", "clamp.default", "equal.default",
             "masked_select.default", "_local_scalar_dense.default", "max.dim", "nonzero.default", "squeeze_.dim", "topk.default",
             "unsqueeze_.default", "view.default", "sum.dim_IntList", "index.Tensor", "randn.default", "dropout.default",
             "new_empty.default"]

#: The tags that follow from what an operator is.
DERIVED = {"out", "inplace", "nondeterministic_seeded", "inplace_view", "dynamic_output_shape", "data_dependent_output"}


def both(name):
    packet, overload = name.split(".")
    return [getattr(getattr(lib.ops.aten, packet), overload) for lib in (shunt, torch)]


def test_tags():
    different, compared = {}, 0
    for full in shunt._C._dispatch_get_all_op_names():
        name, _, overload = full.partition(".")
        theirs = getattr(getattr(torch.ops.aten, name.removeprefix("aten::"), None), overload or "default", None)
        if name.startswith("aten::") and theirs is not None:
            ours = {tag.name for tag in shunt._C._get_operator(name, overload).tags}
            expected = {tag.name for tag in theirs.tags} & DERIVED
            compared += 1
            if ours != expected:
                different[full] = ours, expected
    assert compared > 500 and different == {}


def test_tag():
    assert {tag.name: int(tag) for tag in shunt.Tag} == {
        name: int(tag) for name, tag in torch.Tag.__members__.items()}
    assert shunt._C.Tag is shunt.Tag


def test_given_tags():
    shunt.library.define("facts::tagged", "(Tensor x) -> Tensor", tags=(shunt.Tag.pointwise, shunt.Tag.core))
    assert shunt.ops.facts.tagged.default.tags == [shunt.Tag.core, shunt.Tag.pointwise]
    shunt.library.define("facts::one", "(Tensor x) -> Tensor", tags=shunt.Tag.pointwise)
    assert shunt.ops.facts.one.default.tags == [shunt.Tag.pointwise]


def test_overload_packet():
    op = shunt.ops.aten.add.Tensor
    assert op._overloadpacket is op.overloadpacket is shunt.ops.aten.add


@pytest.mark.parametrize("name", OPERATORS)
def test_types(name):
    for ours, theirs in zip(*(op._schema.arguments + op._schema.returns for op in both(name))):
        assert str(ours.type) == str(theirs.type)
        assert ours.type.kind() == theirs.type.kind()
        while theirs.type.kind() in ("ListType", "OptionalType"):
            ours = type("Element", (), {"type": ours.type.getElementType()})
            theirs = type("Element", (), {"type": theirs.type.getElementType()})
            assert str(ours.type) == str(theirs.type)
            assert ours.type.kind() == theirs.type.kind()


def test_classes_of_types():
    schema = shunt.ops.aten.max.dim._schema
    assert isinstance(schema.returns[0].type, shunt.TensorType)
    assert schema.returns[0].type == shunt.TensorType.get()
    assert isinstance(schema.arguments[1].type, shunt._C.IntType)
    assert not isinstance(shunt.ops.aten.cat.default._schema.arguments[0].type, shunt.TensorType)
