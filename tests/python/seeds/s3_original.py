# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
# end
    # ✅ 正确：使用 func() 调用原始实现
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        if func.overloadpacket == torch.ops.aten.mm:
            return func(*args, **kwargs)  # 不会递归
# added
        return func(*args, **kwargs)
x = torch.randn(2, 2)
with Mode():
    y = torch.mm(x, x)
print(torch.equal(y, torch.mm(x, x)))
# end
