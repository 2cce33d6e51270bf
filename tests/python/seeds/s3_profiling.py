# added
import time
import torch
from torch.utils._python_dispatch import TorchDispatchMode
# end
class ProfilingMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        start = time.time()
        result = func(*args, **kwargs)
        elapsed = time.time() - start
        print(f"{func.overloadpacket}: {elapsed:.6f}s")
        return result
# added
with ProfilingMode():
    torch.mm(torch.ones(2, 2), torch.ones(2, 2)).relu()
# end
