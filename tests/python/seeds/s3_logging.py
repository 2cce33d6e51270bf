# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
# end
class LoggingMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        print(f"Called: {func.overloadpacket}")
        return func(*args, **kwargs)
# added
x = torch.ones(2, 2)
with LoggingMode():
    torch.nn.functional.linear(x, x).relu()
# end
