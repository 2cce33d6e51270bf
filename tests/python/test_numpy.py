"""NumPy's arrays and buffers as tensors' memory, and tensors as theirs."""

import gc
import subprocess
import sys
import weakref

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")

import torch  # noqa: E402, F401  the tests that need it are found by this

from against_torch import same  # noqa: E402

import shunt  # noqa: E402

ARRAYS = """
torch.from_numpy([1])
torch.from_numpy(np.float32(1))
torch.from_numpy(np.arange(3)[::-1])
torch.from_numpy(np.arange(3,dtype='>i4'))
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.array([object()]))
torch.from_numpy(np.zeros((0,3)))
torch.from_numpy(np.zeros(()))
torch.from_numpy(np.ndarray((2,),'f4',bytearray(16),offset=1))
torch.from_numpy(np.zeros(3,dtype='i4,f4'))
torch.from_numpy(np.zeros(3,dtype='i4,f4')['f1'])
torch.from_numpy(np.ones(3,dtype='longdouble'))
torch.from_numpy(np.ones(3,dtype='M8[s]'))
torch.from_numpy(np.ndarray((2,),'f4',bytearray(32),strides=(6,)))
torch.from_numpy(a=np.ones(1))
torch.from_numpy()
torch.from_numpy(np.ones((3,4)).T).stride()
torch.tensor(np.float32(1.5))
torch.tensor(np.int8(3))
torch.tensor([np.float32(1.5),1])
torch.tensor([np.int8(3)])
torch.tensor(np.bool_(1))
torch.tensor([np.bool_(1)])
torch.tensor(np.arange(3,dtype='i2'))
torch.tensor(np.arange(3,dtype='>i2'))
torch.tensor(np.arange(3)[::-1])
torch.tensor(np.float64(1.5))
torch.tensor([np.float64(1.5)])
torch.tensor([np.float64(1.5),np.float32(1)])
torch.tensor([1.5,np.float32(1)])
torch.tensor([np.int64(1),1.5])
torch.tensor(np.array(3))
torch.tensor([np.array(3),1])
torch.tensor([np.array(3.)])
torch.tensor(np.str_('a'))
torch.tensor(np.array(['a']))
torch.tensor(np.datetime64('2020'))
torch.tensor(read_only)
torch.as_tensor(np.ones(2,dtype='f4'))
torch.as_tensor(np.ones(2),dtype=torch.float32)
torch.as_tensor(np.float32(1))
torch.asarray(np.ones(2),copy=False)
torch.asarray(np.arange(3)[::-1])
torch.asarray(np.arange(3,dtype='>i4'))
torch.asarray(np.float32(3))
torch.Tensor(np.ones(2))
x.new_tensor(np.ones(2))
"""

BUFFERS = """
torch.frombuffer(bytearray(8),dtype=torch.int32)
torch.frombuffer(bytearray(8),dtype=torch.int32,offset=1)
torch.frombuffer(bytearray(7),dtype=torch.int32)
torch.frombuffer(bytearray(0),dtype=torch.int32)
torch.frombuffer(bytearray(8),dtype=torch.int32,count=5)
torch.frombuffer(bytearray(8),dtype=torch.int32,offset=9)
torch.frombuffer(bytearray(8),dtype=torch.int32,count=0)
torch.frombuffer(bytearray(8),dtype=torch.int32,offset=-1)
torch.frombuffer(bytearray(8),dtype=torch.int32,count=1,offset=4)
torch.frombuffer(bytearray(8))
torch.frombuffer(3,dtype=torch.int32)
torch.frombuffer(bytearray(8),dtype=torch.float32,requires_grad=True)
"""

TO_NUMPY = """
x.numpy().dtype
x.numpy().flags.writeable
torch.ones(2,requires_grad=True).numpy()
torch.ones(2,requires_grad=True).numpy(force=True)
torch.ones(2,dtype=torch.bfloat16).numpy()
torch.ones(2,device='meta').numpy()
torch.ones(2,device='meta').numpy(force=True)
np.asarray(torch.ones(2,requires_grad=True))
np.asarray(torch.ones(2,dtype=torch.bfloat16))
np.array(x,dtype='i4')
np.asarray(x)
np.asarray(torch.ones(4)[::2])
np.array(torch.ones(2,3))
x.__array__('f8')
x.__array__()
x.__array_priority__
np.ones(3)+x
x+np.ones(3)
np.float64(2)*x
np.float32(2)-x
np.int64(2)*x
x*np.float64(2)
x**np.float64(2)
x/np.float32(2)
np.ones(3)*x
x-np.ones(3)
x==np.ones(3)
np.ones(3)==x
x>np.zeros(3)
np.zeros(3)<x
x==np.zeros(4)
np.add(np.ones(3),x)
np.sin(x)
np.exp(x)
np.maximum(x,2)
torch.add(x,np.ones(3))
x+np.array(2.)
x+np.float32(2)
np.array(2.)+x
x@np.ones(3)
np.ones(3)@x
x.__array_wrap__(np.ones(2))
x+[1,2,3]
np.concatenate([x,x])
np.stack([x,x])
np.array([x,x])
np.allclose(x,np.ones(3))
np.dot(x,x)
np.where(x>0,1,2)
np.isscalar(x[0])
np.float32(x[0])
np.linspace(0,1,torch.tensor(3))
np.zeros(3)[torch.tensor([0,1])]
np.zeros(3)[torch.tensor(1)]
"""


def test_a_circle_through_an_array_is_collected():
    class Holder:
        pass

    x, holder = shunt.ones(2), Holder()
    holder.array, holder.view, x.holder = x.numpy(), memoryview(x), holder
    gone = weakref.ref(holder)
    del x, holder
    gc.collect()
    assert gone() is None


def lines(*texts):
    return [line for text in texts for line in text.strip().split("\n")]


@pytest.mark.parametrize("expression", lines(ARRAYS, BUFFERS, TO_NUMPY))
def test_as_pytorch(expression):
    same(expression)


@pytest.mark.parametrize("make", [lambda: shunt.from_numpy(read_only()), lambda: shunt.as_tensor(read_only()),
                                  lambda: shunt.frombuffer(b"12345678", dtype=shunt.int32),
                                  lambda: shunt.asarray(b"1234", dtype=shunt.int32)])
def test_read_only_memory_warns(make):
    with pytest.warns(UserWarning, match="not writable"):
        make()


def read_only():
    array = np.arange(3.0)
    array.flags.writeable = False
    return array


ALL = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", ALL)
def test_memory_is_shared_both_ways(name):
    array = np.zeros((2, 3), dtype=name)
    tensor = shunt.from_numpy(array)
    assert tensor.dtype is getattr(shunt, name) and tensor.data_ptr() == array.ctypes.data
    array[1, 2] = 1
    assert tensor[1, 2].item() == 1
    tensor[0, 0] = 1
    assert array[0, 0] == 1
    back = tensor.t().numpy()
    assert back.dtype == array.dtype and back.shape == (3, 2) and back.ctypes.data == array.ctypes.data
    back[1, 1] = 1
    assert tensor[1, 1].item() == 1


def test_an_array_lives_as_long_as_its_tensor():
    import weakref
    array = np.ones(1000)
    gone = weakref.ref(array)
    part = shunt.from_numpy(array)[10:20]
    del array
    gc.collect()
    assert gone() is not None and part.sum().item() == 10
    del part
    assert gone() is None


def test_memory_lives_as_long_as_its_array():
    tensor = shunt.ones(1000)
    gone = weakref.ref(tensor)
    array = tensor.numpy()[5:]
    del tensor
    gc.collect()
    others = [shunt.zeros(1000) for _ in range(4)]
    assert gone() is None and array.sum() == 995 and len(others) == 4
    array[0] = 3
    assert shunt.from_numpy(array).sum() == 997


def test_a_buffer_cannot_be_released_while_a_tensor_lives():
    memory = bytearray(16)
    tensor = shunt.frombuffer(memory, dtype=shunt.float32)
    with pytest.raises(BufferError):
        memory.extend(b"more")
    view = memoryview(memory)
    other = shunt.frombuffer(view, dtype=shunt.uint8)
    with pytest.raises(BufferError):
        view.release()
    del other, tensor
    view.release()
    memory.extend(b"more")


def test_memoryview_of_a_tensor():
    x = shunt.arange(6, dtype=shunt.int32).reshape(2, 3)
    view = memoryview(x)
    assert (view.shape, view.strides, view.format, view.readonly) == ((2, 3), (12, 4), "i", False)
    view[1, 2] = 50
    assert x[1, 2].item() == 50
    assert memoryview(x.t()).strides == (4, 12)
    assert bytes(memoryview(x)) == x.numpy().tobytes()
    assert memoryview(shunt.zeros(0, 3)).shape == (0, 3)
    with pytest.raises((BufferError, TypeError)):
        memoryview(shunt.ones(2, dtype=shunt.bfloat16))
    with pytest.raises((BufferError, TypeError)):
        memoryview(shunt.ones(2, requires_grad=True))
    import struct
    target = bytearray(8)
    target[:] = memoryview(shunt.ones(2))
    assert struct.unpack("2f", target) == (1.0, 1.0)
    import hashlib
    assert hashlib.md5(shunt.ones(2)).digest() == hashlib.md5(target).digest()
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.md5(shunt.ones(4)[::2])


@pytest.mark.parametrize("flags, fits", [("C", (True, False, False)), ("F", (False, True, False))])
def test_orders_of_buffers(flags, fits):
    rows = shunt.zeros(2, 3)
    for tensor, fit in zip((rows, rows.t(), shunt.zeros(4, 6)[::2, ::2]), fits):
        view = memoryview(tensor)
        assert (view.c_contiguous if flags == "C" else view.f_contiguous) is fit


def test_an_array_of_another_order_keeps_its_strides():
    array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[::2]
    tensor = shunt.from_numpy(array)
    assert tensor.stride() == tuple(s // 8 for s in array.strides)
    assert np.array_equal(tensor.numpy(), array) and tensor.tolist() == array.tolist()


def test_arrays_go_on_another_thread():
    import threading
    import weakref
    array = np.ones(10)
    gone = weakref.ref(array)
    held = [shunt.from_numpy(array)]
    del array
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert gone() is None


def test_the_package_does_not_import_numpy():
    code = ("import sys, shunt; x = shunt.tensor([[1., 2.]]); repr(x); (x + 1).tolist(); memoryview(x);"
            "import pickle, copy; pickle.loads(pickle.dumps(x)); copy.deepcopy(x); shunt.from_dlpack(x);"
            "assert 'numpy' not in sys.modules and 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_numpy():
    code = ("import sys; sys.modules['numpy'] = None; import shunt; x = shunt.tensor([1, 2.5]); print(x);\n"
            "try:\n    x.numpy()\nexcept ImportError: pass\nelse: raise SystemExit('an array without NumPy?')\n"
            "try:\n    shunt.from_numpy([1])\nexcept TypeError: pass\nelse: raise SystemExit('no error')")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_that_others_show_is_not_resized():
    for show in (lambda x: x.numpy(), memoryview, lambda x: x.__dlpack__(), shunt.to_torch):
        x = shunt.ones(4)
        shown = show(x)
        with pytest.raises(RuntimeError, match="resiz"):
            x.resize_(100_000)
        with pytest.raises(RuntimeError, match="resiz"):
            x.untyped_storage().resize_(100_000)
        del shown
        gc.collect()
        assert x.resize_(100_000).numel() == 100_000
