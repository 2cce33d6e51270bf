"""repr of tensors, compared with PyTorch's text."""

import random

import pytest

pytest.importorskip("torch")

import torch  # noqa: E402

from against_torch import same  # noqa: E402

import shunt  # noqa: E402

EXPRESSIONS = """
x
z
y
Sub([1])
torch.nn.Parameter(torch.ones(2))
torch.nn.Parameter(torch.ones(2,3,device='meta'))
torch.ones(0,3)
torch.ones(0)
torch.ones(0,dtype=torch.int64)
torch.ones(2,0,dtype=torch.float64)
torch.ones(2,device='meta')
torch.ones(2,3,device='meta',dtype=torch.int64)
torch.ones(2,device='meta',requires_grad=True)
torch.zeros(2,dtype=torch.bool)
z.detach()
z.sum()
torch.tensor([float('nan')])
torch.tensor([float('nan'),1.5])
torch.tensor([-0.])
torch.tensor([0.,0.5])
torch.tensor([1e-5,1])
torch.tensor([[1.123456,22222.5]])
torch.tensor(1e-10)
torch.tensor(12345678.)
torch.tensor(123456789.)
torch.tensor(True)
torch.arange(2000)
torch.ones(2,3,2000)
torch.ones(20,20,20)
torch.tensor([1,-100])
torch.tensor([1.,float('inf')])
torch.tensor([1.5,-float('inf')])
torch.tensor([1000.5,1])
torch.tensor([1,2],dtype=torch.uint8)
torch.ones(2,dtype=torch.bfloat16)
torch.ones(2,dtype=torch.float16)*0.1
torch.ones(1,1,1)
torch.tensor([[True],[False]])
torch.ones(30)
torch.arange(1000.)
torch.arange(1001.)
torch.ones(2,2,requires_grad=True)*3
torch.ones(16,requires_grad=True)*3
torch.ones(15,dtype=torch.float64,requires_grad=True).exp()
torch.tensor([2**63-1,-2**63])
torch.tensor([1e38,1e-38])
torch.tensor([1.7e308],dtype=torch.float64)
torch.tensor(5)
torch.tensor(5,dtype=torch.int8)
torch.tensor(0.1,dtype=torch.float64)
str(x)
'%r' % x
[x]
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_as_pytorch(expression):
    same(expression, warnings_too=False)


DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]


def random_pair(draw):
    """The same random values in both libraries."""
    shape = [draw.choice([0, 1, 2, 3, 5, 7, 8, 12, 40] if k else [1, 2, 3, 4, 30, 1200])
             for k in range(draw.randint(0, 3))]
    scale = 10.0 ** draw.choice([-6, -3, -1, 0, 0, 0, 1, 3, 5, 9])
    values = torch.randn(shape) * scale
    if draw.random() < 0.3:
        values = values.round()
    if draw.random() < 0.2:
        special = draw.choice([0.0, float("inf"), float("nan"), -float("inf"), 1.0])
        values = torch.where(torch.rand(shape) < 0.2, special, values)
    dtype = draw.choice(DTYPES)
    if not getattr(torch, dtype).is_floating_point:
        values = values.nan_to_num().clamp(0 if dtype == "uint8" else -1e6, 200 if dtype == "uint8" else 1e6)
    values = values.to(getattr(torch, dtype))
    mine = shunt.tensor(values.tolist(), dtype=getattr(shunt, dtype)).reshape(shape)
    if draw.random() < 0.2 and values.dim() > 1:
        values, mine = values.transpose(0, 1), mine.transpose(0, 1)
    if draw.random() < 0.1 and values.is_floating_point():
        values.requires_grad_(), mine.requires_grad_()
    return values, mine


def text(tensor):
    return repr(tensor).replace("shunt.", "torch.")


OPTIONS = [{}, {"precision": 2}, {"precision": 8}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1},
           {"linewidth": 40}, {"linewidth": 200}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"},
           {"profile": "full"}, {"threshold": 10, "edgeitems": 2, "precision": 1, "linewidth": 30}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_random_tensors(options):
    draw = random.Random(17)
    torch.manual_seed(17)
    try:
        torch.set_printoptions(**options)
        shunt.set_printoptions(**options)
        for _ in range(150):
            theirs, mine = random_pair(draw)
            assert text(mine) == repr(theirs)
    finally:
        torch.set_printoptions(profile="default")
        shunt.set_printoptions(profile="default")


def test_options_for_a_block():
    from shunt._printing import get_printoptions, printoptions
    before = get_printoptions()
    with printoptions(precision=1):
        assert repr(shunt.tensor([0.25])) == "tensor([0.2])"
    assert get_printoptions() == before


def test_large_tensors_print_fast():
    import time
    x = shunt.zeros(4000, 2000)
    start = time.perf_counter()
    assert "..." in repr(x)
    assert time.perf_counter() - start < 0.1


def test_a_class_derived_from_parameter():
    class Weight(shunt.nn.Parameter):
        pass

    assert repr(Weight(shunt.ones(2))) == "Parameter containing:\nWeight([1., 1.], requires_grad=True)"
