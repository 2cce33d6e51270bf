"""tensor, as_tensor, asarray, the constructors of old, factories and questions about dtypes, as PyTorch has them."""

import pytest

pytest.importorskip("torch")

import torch  # noqa: E402

from against_torch import same  # noqa: E402

import shunt  # noqa: E402

TENSOR = """
torch.tensor([[1,2],[3]])
torch.tensor([[1,2],[3,4,5]])
torch.tensor([1,[2]])
torch.tensor([[1],2])
torch.tensor([[[1]],[[2,3]]])
torch.tensor(2**63)
torch.tensor([2**63])
torch.tensor(2**63,dtype=torch.float)
torch.tensor(300,dtype=torch.uint8)
torch.tensor([300],dtype=torch.uint8)
torch.tensor(-1,dtype=torch.uint8)
torch.tensor(-255,dtype=torch.uint8)
torch.tensor(-300,dtype=torch.uint8)
torch.tensor(128,dtype=torch.int8)
torch.tensor(300.7,dtype=torch.uint8)
torch.tensor(1e40,dtype=torch.float32)
torch.tensor(1e10,dtype=torch.float16)
torch.tensor(1.5,dtype=torch.int32)
torch.tensor(1e30,dtype=torch.int64)
torch.tensor(1e10,dtype=torch.int32)
torch.tensor(float('nan'),dtype=torch.int64)
torch.tensor(float('nan'),dtype=torch.int32)
torch.tensor(float('nan'),dtype=torch.bool)
torch.tensor(2**70,dtype=torch.float64)
torch.tensor(2**2000,dtype=torch.float64)
torch.tensor(2**63-1)
torch.tensor(-2**63)
torch.tensor(2**63,dtype=torch.int32)
torch.tensor('a')
torch.tensor('')
torch.tensor([''])
torch.tensor(['a'])
torch.tensor(['ab','cd'])
torch.tensor([b'ab'])
torch.tensor(b'ab')
torch.tensor(None)
torch.tensor([None])
torch.tensor([])
torch.tensor([[],[]])
torch.tensor([[],[1]])
torch.tensor([[1],[]])
torch.tensor([1,[]])
torch.tensor(())
torch.tensor([True,2])
torch.tensor([True,2.5])
torch.tensor([1,2.5])
torch.tensor({1:2})
torch.tensor({1,2})
torch.tensor(range(3))
torch.tensor([range(2),range(2)])
torch.tensor((i for i in range(3)))
torch.tensor(bytearray(b'ab'))
torch.tensor(x)
torch.tensor([x,x])
torch.tensor([x[0],x[1]])
torch.tensor([x[0],1])
torch.tensor([x[0],None])
torch.tensor([torch.ones(1),torch.ones(1)])
torch.tensor([torch.ones(2,2)])
torch.tensor([torch.tensor(1.5,dtype=torch.float64),2])
torch.tensor([torch.tensor(1),torch.tensor(2.)])
torch.tensor([[1,2],[3,4]],dtype=torch.bool)
torch.tensor([1.5,2],dtype=torch.bool)
torch.tensor([1.0],requires_grad=True)
torch.tensor([1],requires_grad=True)
torch.tensor(1,2)
torch.tensor()
torch.tensor([1],dtype='a')
torch.tensor([1],foo=1)
torch.tensor(data=[1])
torch.tensor([1],device='meta')
torch.tensor([1],pin_memory=True)
torch.tensor([1,2],layout=torch.strided)
torch.tensor(True,dtype=torch.float32)
torch.tensor('abc',dtype=torch.float)
torch.tensor([1.0,'a'])
torch.tensor(x,requires_grad=True)
torch.tensor(y)
torch.tensor(x,dtype=torch.int32)
torch.tensor(x,device='meta')
torch.tensor([1,2],dtype=float)
torch.tensor([1,2],dtype=int)
torch.tensor([1,2,3],dtype=torch.float16,device='cpu')
torch.tensor(Sequence())
torch.tensor(Floating())
torch.tensor([Floating()])
torch.tensor([Floating()],dtype=torch.float32)
torch.tensor(Floating(),dtype=torch.float32)
torch.tensor(Index())
torch.tensor([Index()],dtype=torch.int32)
torch.tensor(circle)
torch.tensor([(1,2),[3,4]])
torch.tensor([[[1,2],[3,4]],[[5,6],[7,8]]])
torch.as_tensor(x) is x
torch.as_tensor(x,dtype=torch.float64)
torch.as_tensor(x,device='meta')
torch.as_tensor([1,2])
torch.as_tensor(1.5)
torch.as_tensor()
torch.as_tensor([1],torch.float64)
torch.as_tensor([1],dtype='a')
torch.asarray(x) is x
torch.asarray(x,copy=True) is x
torch.asarray([1.,2.],requires_grad=True)
torch.asarray([1],copy=False)
torch.asarray(1)
torch.asarray([1,2],dtype=torch.float64)
torch.asarray(x,dtype=torch.float64,copy=False)
torch.asarray(x,requires_grad=True)
torch.asarray(torch.ones(2,dtype=torch.int32),requires_grad=True)
torch.asarray(bytearray(b'abcd'))
torch.asarray(memoryview(bytearray(8)))
torch.asarray(bytearray(b'abc'),dtype=torch.int32)
torch.asarray(object())
x.new_tensor([1,2])
x.new_tensor([1,2],dtype=torch.int64)
x.new_tensor([1],requires_grad=True)
x.new_tensor(5)
x.new_tensor('a')
x.new_tensor(x)
torch.scalar_tensor(3)
torch.scalar_tensor(3,dtype=torch.int32)
"""

OF_OLD = """
torch.Tensor()
torch.Tensor(3).shape
torch.Tensor(2,3).shape
torch.Tensor([2,3])
torch.Tensor((2,3))
torch.Tensor(torch.Size([2,3])).shape
torch.Tensor(x)
torch.Tensor(x) is x
torch.Tensor(x).data_ptr()==x.data_ptr()
torch.Tensor(torch.ones(2,dtype=torch.int64))
torch.Tensor(1.5)
torch.Tensor([1.5],device='cpu')
torch.Tensor([1],dtype=torch.int)
torch.Tensor('a')
torch.Tensor([True])
torch.FloatTensor([1,2])
torch.LongTensor([1,2])
torch.LongTensor([1.5])
torch.ByteTensor(3).shape
torch.DoubleTensor(2,2).dtype
torch.IntTensor(torch.ones(2,dtype=torch.int32))
torch.IntTensor(x)
torch.FloatTensor
isinstance(x,torch.FloatTensor)
isinstance(x,torch.LongTensor)
Sub([1,2])
Sub(3).shape
Sub(x)
Sub(x).data_ptr()==x.data_ptr()
type(Sub(x)).__name__
x.type()
x.type(torch.int32)
x.type('torch.IntTensor')
x.type('torch.FloatTensor') is x
x.type(torch.LongTensor)
x.type('foo')
x.type(torch.float64)
x.type_as(torch.ones(1,dtype=torch.int8))
x.new(2,3).shape
x.new([1,2])
"""

FACTORIES = """
x.new_full((2,),3)
x.new_zeros(2,3).shape
torch.full((2,),1)
torch.full((2,),True)
torch.full((2,),1.5)
torch.full((2,),1,dtype=torch.float32)
torch.full((2,),x[0])
torch.full(2,1)
torch.full([2],fill_value=7)
torch.full_like(x,2)
torch.arange(3)
torch.arange(3.)
torch.arange(1,3,0.5)
torch.arange(start=1,end=3)
torch.arange(end=3)
torch.arange(3,dtype=torch.float32)
torch.arange(1,2,-1)
torch.arange(0,1,0)
torch.arange(3,requires_grad=True)
torch.arange(3.,requires_grad=True)
torch.linspace(0,1,5)
torch.linspace(start=0,end=1,steps=3)
torch.linspace(0,1)
torch.logspace(0,2,3)
torch.logspace(0,2,3,base=2)
torch.logspace(0,2,steps=3,dtype=torch.float64)
torch.eye(2)
torch.eye(2,3)
torch.eye(2,m=3)
torch.empty(2,3,dtype=torch.int32).dtype
torch.zeros(())
torch.zeros((2,),out=torch.ones(2))
torch.zeros(2,3,names=None).shape
torch.zeros(2,pin_memory=False)
torch.zeros(2,layout=torch.strided)
torch.empty_strided((2,3),(1,2)).stride()
torch.zeros(2,device='meta')
"""

CONVERSIONS = """
x.cpu() is x
x.float() is x
x.to('cpu') is x
x.to(torch.float64,copy=True)
x.to('meta')
x.to(x) is x
x.to(device='cpu',dtype=torch.int32)
x.to('cpu',torch.int32)
x.to('cpu',torch.int32,False,True)
x.to(torch.int32,False,True)
x.to(other=torch.ones(1,dtype=torch.int32)) if 0 else None
x.to()
x.to('abc')
x.to(dtype='a')
x.to(None)
x.to(device=None,dtype=torch.int32)
x.to(torch.int32,memory_format=torch.preserve_format)
x.to(float)
x.to(torch.device('cpu'),non_blocking=True) is x
x.to(x,torch.int32)
x.to('cpu','cpu')
x.double().dtype
x.half().dtype
x.bfloat16()
x.bool()
x.char().dtype
x.byte()
x.short()
x.int()
x.long()
x.float(memory_format=torch.preserve_format)
x.cpu(memory_format=torch.preserve_format) is x
x.float(3)
x.double(foo=1)
y.double()
x.tolist()
torch.tensor(1.5).tolist()
format(torch.tensor(1.5),'.3f')
format(x,'.3f')
format(x)
'%s'%x
format(torch.tensor(3),'d')
f'{torch.tensor(2.5)}'
f'{torch.tensor(2.5,requires_grad=True)}'
f'{torch.tensor(2.5,requires_grad=True):.2f}'
len(torch.tensor(1))
bool(x)
bool(torch.ones(0))
int(x)
float(x)
int(torch.tensor(2.7))
int(torch.tensor(float('nan')))
int(torch.tensor(float('inf')))
[1,2,3][torch.tensor(1)]
[1,2][torch.tensor(1.)]
[1,2][torch.tensor(True)]
[1,2][torch.ones(1,dtype=torch.int64)]
complex(torch.tensor(2.))
hex(torch.tensor(12))
round(torch.tensor(2.6)) if 0 else None
list(x)
iter(torch.tensor(1))
x.item()
torch.ones(1,1).item()
reversed(x)
list(reversed(torch.arange(3)))
1 in x
x.__contains__('a')
float(torch.ones(1,1))
math.floor(torch.tensor(1.5))
divmod(x,2)
-x
+x is x
x.get_device()
x.pin_memory()
x.real is x
x.resolve_conj() is x
x.is_conj(), x.is_neg(), x.is_nested, x.is_mps, x.is_sparse_csr, x.is_mkldnn
x.nonexist
"""

DTYPES = """
torch.promote_types(torch.int32,torch.float32)
torch.promote_types(torch.uint8,torch.int8)
torch.result_type(x,1)
torch.result_type(torch.ones(1,dtype=torch.int32),1.5)
torch.result_type(1,2)
torch.result_type(1,2.)
torch.result_type(torch.tensor(1.,dtype=torch.float64),x)
torch.result_type(torch.tensor(1.,dtype=torch.float64),torch.ones(1,dtype=torch.int32))
torch.result_type(torch.tensor(1),True)
torch.result_type(x,'a')
torch.can_cast(torch.float,torch.int)
torch.can_cast(torch.int,torch.float)
torch.can_cast(from_=torch.int,to=torch.float)
torch.finfo(torch.float32)
torch.finfo(torch.float16)
torch.finfo(torch.float16).tiny
torch.finfo()
torch.finfo(torch.int32)
torch.finfo(torch.bfloat16)
torch.finfo(torch.float64)
torch.finfo(torch.float64)==torch.finfo(torch.float64)
[(torch.finfo(d).bits, torch.finfo(d).eps, torch.finfo(d).max) for d in (torch.half, torch.bfloat16, torch.double)]
torch.iinfo(torch.int32)
torch.iinfo(torch.bool)
torch.iinfo(torch.float32)
torch.iinfo(torch.uint8)
[(torch.iinfo(d).bits, torch.iinfo(d).min, torch.iinfo(d).max) for d in (torch.uint8, torch.int8, torch.int64)]
torch.is_tensor(x)
torch.is_tensor(1)
torch.numel(x)
torch.numel(3)
torch.is_floating_point(x)
torch.is_floating_point(3)
torch.is_complex(x)
torch.is_signed(x)
torch.is_nonzero(x)
torch.is_nonzero(torch.tensor(1))
torch.is_storage(x)
torch.get_default_dtype()
torch.set_default_dtype(torch.int32)
torch.set_default_dtype('a')
torch.set_num_threads(0)
torch.set_num_threads('a')
torch.set_num_threads(True)
torch.dtype
torch.float32
str(torch.float32)
torch.Size([1,2])
torch.Size([1.5])
torch.Size((2,3)).numel()
torch.Size([1,2])+(3,)
(3,)+torch.Size([1,2])
torch.Size([1])*2
torch.Size([1,2])[0:1]
torch.strided
"""


def lines(*texts):
    return [line for text in texts for line in text.strip().split("\n")]


@pytest.mark.parametrize("expression", lines(TENSOR))
def test_tensor(expression):
    # PyTorch warns of asarray() of a tensor with grad only, which isn't here.
    same(expression)


@pytest.mark.parametrize("expression", lines(OF_OLD, FACTORIES))
def test_factories(expression):
    same(expression)


@pytest.mark.parametrize("expression", lines(CONVERSIONS))
def test_conversions(expression):
    same(expression)


@pytest.mark.parametrize("expression", lines(DTYPES))
def test_dtypes(expression):
    same(expression)


def test_the_default_dtype():
    try:
        shunt.set_default_dtype(shunt.float64)
        assert shunt.get_default_dtype() is shunt.float64
        assert shunt.tensor(1.5).dtype is shunt.ones(1).dtype is shunt.Tensor([1]).dtype is shunt.float64
        assert repr(shunt.tensor(1.5)) == "tensor(1.5000)"
    finally:
        shunt.set_default_dtype(shunt.float32)


DEFAULT_DEVICE = [
    "torch.set_default_device('meta')", "torch.get_default_device()", "torch.ones(2)", "torch.tensor([1])",
    "torch.randn(2)", "torch.arange(3)", "torch.ones(2, device='cpu')", "torch.zeros_like(x)", "x.new_zeros(2)",
    "torch.as_tensor(1.5)", "x + 1"]


def test_the_default_device():
    try:
        for expression in DEFAULT_DEVICE:
            same(expression, warnings_too=False)
        with shunt.device("cpu"), shunt.device("meta"):
            assert shunt.ones(1).is_meta
        with shunt.device("cpu") as device:
            assert shunt.ones(1).is_cpu and shunt.get_default_device() == device
            import threading
            seen = []
            thread = threading.Thread(target=lambda: seen.append(shunt.ones(1).device.type))
            thread.start()
            thread.join()
            assert seen == ["cpu"]
        assert shunt.ones(1).is_meta
        with pytest.raises(TypeError):
            shunt.set_default_device(1.5)
    finally:
        torch.set_default_device(None)
        shunt.set_default_device(None)
    assert shunt.ones(1).is_cpu


def test_messages_name_the_dimension():
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        shunt.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"tensor\(\) got an unexpected keyword argument 'foo'"):
        shunt.tensor([1], foo=2)


def test_a_list_that_changes_while_it_is_read():
    class Shrinks:
        def __init__(self, of):
            self.of = of

        def __float__(self):
            del self.of[1:]
            return 1.0

    values = [1.0, 2.0, 3.0, 4.0]
    values[0] = Shrinks(values)
    with pytest.raises(ValueError, match="expected sequence of length 4"):
        shunt.tensor(values, dtype=shunt.float32)

    class Grows(Shrinks):
        def __float__(self):
            self.of.extend([0.0] * 100)
            return 1.0

    values = [1.0, 2.0]
    values[0] = Grows(values)
    with pytest.raises(ValueError, match="expected sequence of length 2"):
        shunt.tensor(values, dtype=shunt.float32)


def test_threads():
    before = shunt.get_num_threads()
    try:
        shunt.set_num_threads(1)
        assert shunt.get_num_threads() == 1
    finally:
        shunt.set_num_threads(before)
