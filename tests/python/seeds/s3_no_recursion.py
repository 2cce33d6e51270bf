# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
# end
    # ❌ 错误：会导致无限递归
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket == torch.ops.aten.mm:
            return torch.mm(args[0], args[1])  # 会再次被拦截
# added
        return func(*args, **(kwargs or {}))
x = torch.randn(2, 2)
with Mode():  # the mode is off inside of its handler, so it is not called again
    print(torch.equal(torch.mm(x, x), x @ x))
# end
