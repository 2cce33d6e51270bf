import torch
from torch import Tensor

# 使用 torch.library 注册自定义算子
torch.library.define(
    "mylib::custom_add",
    "(Tensor x, Tensor y) -> Tensor"
)

# CPU 实现
@torch.library.impl("mylib::custom_add", "CPU")
def custom_add_cpu(x: Tensor, y: Tensor) -> Tensor:
    print("使用 CPU 实现")
    return x + y

# CUDA 实现
@torch.library.impl("mylib::custom_add", "CUDA")
def custom_add_cuda(x: Tensor, y: Tensor) -> Tensor:
    print("使用 CUDA 实现")
    return x + y

# 使用自定义算子
x_cpu = torch.randn(10)
y_cpu = torch.randn(10)
result_cpu = torch.ops.mylib.custom_add(x_cpu, y_cpu) # "使用 CPU 实现"

# added
print(torch.equal(result_cpu, x_cpu + y_cpu))
if not torch.cuda.is_available():
    raise SystemExit
# end
x_cuda = torch.randn(10, device='cuda')
y_cuda = torch.randn(10, device='cuda')
result_cuda = torch.ops.mylib.custom_add(x_cuda, y_cuda) # "使用 CUDA 实现"
