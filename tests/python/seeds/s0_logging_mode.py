import torch
from torch.utils._python_dispatch import TorchDispatchMode

class LoggingMode(TorchDispatchMode):
    """记录所有 PyTorch 操作"""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(f"调用: {func.__name__}")
        print(f" 输入形状: {[a.shape if isinstance(a, torch.Tensor) else a for a in args]}")

        # 调用原始实现
        result = func(*args, **(kwargs or {}))

        print(f" 输出形状: {result.shape if isinstance(result, torch.Tensor) else result}")
        return result

# 使用
with LoggingMode():
    x = torch.randn(3, 4)
    y = x + 1
    z = y * 2

# 输出：
# 调用: add
# 输入形状: [(3, 4), 1]
# 输出形状: (3, 4)
# 调用: mul
# 输入形状: [(3, 4), 2]
# 输出形状: (3, 4)
