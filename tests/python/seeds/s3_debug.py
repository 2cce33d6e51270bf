# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
# end
class DebugMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        print(f"Calling {func.overloadpacket}")
        print(f"  Input shapes: {[a.shape for a in args if isinstance(a, torch.Tensor)]}")
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            print(f"  Output shape: {result.shape}")
        return result
# added
x = torch.ones(2, 3)
with DebugMode():
    x @ x.t()
# end
