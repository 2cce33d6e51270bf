# added
import torch
from torch.utils._python_dispatch import TorchDispatchMode
# end
class ValidationMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}  # added
        # 检查输入
        for arg in args:
            if isinstance(arg, torch.Tensor):
                if torch.isnan(arg).any():
                    raise ValueError(f"Input contains NaN")

        result = func(*args, **kwargs)

        # 检查输出
        if isinstance(result, torch.Tensor):
            if torch.isnan(result).any():
                raise ValueError(f"Output contains NaN")

        return result
# added
def tried(f, x):
    try:
        with ValidationMode():
            f(x)
        print("fine")
    except ValueError as error:
        print(error)
tried(torch.sqrt, torch.tensor([1.0]))
tried(torch.sqrt, torch.tensor([float("nan")]))
tried(torch.sqrt, torch.tensor([-1.0]))
# end
