import traceback

# added
import sys
import torch
from torch.utils._python_dispatch import TorchDispatchMode
traceback_print_stack = traceback.print_stack
traceback.print_stack = lambda: traceback_print_stack(file=sys.stdout)
# end
class TracingMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        if func.overloadpacket == torch.ops.aten.mm:
            print("Call stack:")
            traceback.print_stack()
        return func(*args, **kwargs)
# added
def compute(x):
    return torch.mm(x, x)
with TracingMode():
    compute(torch.ones(2, 2))
# end
