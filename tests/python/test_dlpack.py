"""DLPack both ways, with NumPy and PyTorch, by capsules and by the table of C functions."""

import gc
import threading
import weakref

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")

import torch  # noqa: E402

from against_torch import same  # noqa: E402

import shunt  # noqa: E402

EXPRESSIONS = """
tuple(map(int, x.__dlpack_device__()))
type(x.__dlpack__()).__name__
'dltensor"' in repr(x.__dlpack__())
'dltensor_versioned"' in repr(x.__dlpack__(max_version=(1,0)))
'dltensor_versioned"' in repr(x.__dlpack__(max_version=(1,2)))
'dltensor"' in repr(x.__dlpack__(max_version=(0,5)))
x.__dlpack__(stream=1)
type(x.__dlpack__(stream=-1)).__name__
type(x.__dlpack__(stream=None)).__name__
type(x.__dlpack__(dl_device=(1,0))).__name__
type(x.__dlpack__(copy=True)).__name__
type(x.__dlpack__(copy=False)).__name__
x.__dlpack__(max_version=3)
x.__dlpack__(foo=3)
x.__dlpack__(stream='a')
y.__dlpack__()
type(y.detach().__dlpack__()).__name__
torch.ones(2,device='meta').__dlpack__()
torch.ones(2,device='meta').__dlpack_device__()
torch.from_dlpack(x.__dlpack__())
torch.from_dlpack(x.__dlpack__(max_version=(1,0)))
(lambda c: (torch.from_dlpack(c), torch.from_dlpack(c)))(x.__dlpack__())
torch.from_dlpack(np.ones(3))
torch.from_dlpack(read_only)
torch.from_dlpack(3)
torch.from_dlpack(np.ones(3),device='cpu')
torch.from_dlpack(np.ones(3),copy=True)
torch.from_dlpack(np.ones(3),copy=False)
torch.from_dlpack(x).data_ptr()==x.data_ptr()
torch.from_dlpack(x,copy=True).data_ptr()==x.data_ptr()
np.from_dlpack(x)
np.from_dlpack(torch.ones(2,dtype=torch.bool))
torch.from_dlpack(np.ones(2,dtype='>f4'))
torch.from_dlpack(torch.ones(0,2)).shape
torch.from_dlpack(torch.tensor(1.))
type(torch.Tensor.__dlpack_c_exchange_api__).__name__
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_as_pytorch(expression):
    same(expression)


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
def test_pytorch_shares_memory_both_ways(name):
    mine = shunt.arange(6).to(getattr(shunt, name)).reshape(2, 3)
    theirs = shunt.to_torch(mine.t())
    assert theirs.dtype is getattr(torch, name) and theirs.shape == (3, 2) and theirs.stride() == (1, 3)
    assert theirs.data_ptr() == mine.data_ptr()
    theirs[2, 1] = 1
    assert mine[1, 2].item() == 1
    back = shunt.from_torch(theirs)
    assert back.data_ptr() == mine.data_ptr() and back.dtype is mine.dtype and back.stride() == (1, 3)
    assert torch.from_dlpack(mine).data_ptr() == mine.data_ptr()
    assert shunt.from_dlpack(theirs).data_ptr() == mine.data_ptr()


def test_special_shapes():
    for theirs in (torch.ones(()), torch.ones(0), torch.ones(2, 0, 3), torch.ones(4, 6)[1::2, ::3],
                   torch.ones(1, 5).expand(4, 5)):
        mine = shunt.from_torch(theirs)
        assert mine.tolist() == theirs.tolist() and tuple(mine.shape) == tuple(theirs.shape)
        assert shunt.to_torch(mine).tolist() == theirs.tolist()


def test_what_cannot_go():
    with pytest.raises(BufferError, match="require gradient"):
        shunt.to_torch(shunt.ones(1, requires_grad=True))
    with pytest.raises((BufferError, RuntimeError)):
        shunt.from_torch(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="complex"):
        shunt.from_torch(torch.ones(1, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="negative strides"):
        shunt.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(RuntimeError, match="invalid capsule"):
        shunt.from_dlpack(object())
    with pytest.raises(ValueError, match="CPU"):
        shunt.from_dlpack(np.ones(2), device="meta")


def test_a_failed_import_leaves_the_capsule_usable():
    capsule = torch.ones(1, dtype=torch.complex64).__dlpack__()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="complex"):
            shunt.from_dlpack(capsule)
    assert torch.from_dlpack(capsule).tolist() == [1 + 0j]


def test_lifetimes():
    array = np.ones(100)
    gone = weakref.ref(array)
    part = shunt.from_dlpack(array)[3:7]
    del array
    gc.collect()
    assert gone() is not None and part.sum().item() == 4
    del part
    assert gone() is None

    mine = shunt.ones(100)
    storage = mine.untyped_storage()
    theirs = shunt.to_torch(mine)[3:]
    del mine, storage
    gc.collect()
    assert theirs.sum().item() == 97


def test_an_unused_capsule_frees_its_tensor():
    array = np.ones(100)
    gone = weakref.ref(array)
    capsule = shunt.from_numpy(array).__dlpack__()
    del array
    assert gone() is not None
    del capsule
    assert gone() is None
    array = np.ones(100)
    gone = weakref.ref(array)
    capsule = shunt.from_numpy(array).__dlpack__(max_version=(1, 0))
    del array, capsule
    assert gone() is None


def test_a_tensor_of_another_library_goes_on_another_thread():
    array = np.ones(100)
    gone = weakref.ref(array)
    held = [shunt.from_dlpack(array), shunt.from_torch(torch.from_numpy(array))]
    del array
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert gone() is None


def test_read_only_numpy_arrays_come_as_pytorch_takes_them():
    array = np.arange(3.0)
    array.flags.writeable = False
    assert shunt.from_dlpack(array).tolist() == [0.0, 1.0, 2.0]


def test_a_class_derived_from_tensor_goes_too():
    class Sub(shunt.Tensor):
        pass

    mine = Sub([1.0, 2.0])
    assert torch.from_dlpack(mine).data_ptr() == mine.data_ptr()
    assert type(shunt.from_dlpack(mine)) is shunt.Tensor


def test_where_pytorch_has_it():
    from shunt.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack
    x = shunt.ones(2)
    assert from_dlpack(to_dlpack(x)).data_ptr() == x.data_ptr()
    assert x.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
