# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
def named(name):
    class Named(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print(name, func.overloadpacket)
            return func(*args, **(kwargs or {}))
    return Named
HijackMode1, HijackMode2 = named("mode1"), named("mode2")
x = w = torch.ones(2, 2)
# end
mode1 = HijackMode1()
mode2 = HijackMode2()

with mode1:
    with mode2:
        y = torch.mm(x, w)  # mode2 先拦截，然后 mode1
