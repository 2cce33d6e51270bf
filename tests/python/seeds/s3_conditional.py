# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
def custom_impl(a, b):
    print("custom", a.numel())
    return a.matmul(b)
# end
class ConditionalMode(TorchDispatchMode):
    def __init__(self, min_size=1024):
        super().__init__()
        self.min_size = min_size

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        if func.overloadpacket == torch.ops.aten.mm:
            # 只劫持大矩阵乘法
            if args[0].numel() > self.min_size:
                return custom_impl(args[0], args[1])
        return func(*args, **kwargs)
# added
small, large = torch.ones(4, 4), torch.ones(64, 64)
with ConditionalMode():
    torch.mm(small, small)
    torch.mm(large, large)
# end
