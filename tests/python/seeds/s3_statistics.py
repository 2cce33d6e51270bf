# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
# end
class StatsMode(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.stats = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        op_name = str(func.overloadpacket)
        self.stats[op_name] = self.stats.get(op_name, 0) + 1
        return func(*args, **kwargs)

    def print_stats(self):
        for op, count in sorted(self.stats.items(), key=lambda x: -x[1]):
            print(f"{op}: {count} calls")
# added
x = torch.ones(2, 2)
with StatsMode() as mode:
    for _ in range(3):
        x = x + 1
    x.mul(2)
mode.print_stats()
# end
