# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
def my_faster_matmul(a, b):
    print("my_faster_matmul")
    return torch.mm(a, b)
# end
class CustomImplMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        if func.overloadpacket == torch.ops.aten.mm:
            return my_faster_matmul(args[0], args[1])
        return func(*args, **kwargs)
# added
a = torch.randn(3, 3, requires_grad=True)
with CustomImplMode():
    y = torch.mm(a, a)
y.sum().backward()
print(torch.equal(y, torch.mm(a, a)), y.grad_fn.name(), a.grad is not None)
# end
