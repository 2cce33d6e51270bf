import torch

# 查看算子的注册信息
print(torch._C._dispatch_dump("aten::add"))

# 输出类似：
# aten::add.Tensor
# CPU: registered
# CUDA: registered
# AutogradCPU: registered
# AutogradCUDA: registered
# ...
