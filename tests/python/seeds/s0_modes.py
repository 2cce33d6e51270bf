# added
import torch
from torch.func import vmap
from torch._subclasses.fake_tensor import FakeTensorMode
x = torch.randn(3, 4)
# end
# 同一个操作，不同模式下行为不同：

# 正常模式
y = x + 1 # 执行加法
print(y.grad_fn)  # added

# Autograd 模式
x.requires_grad_()  # added
y = x + 1 # 执行加法 + 记录反向传播信息
print(type(y.grad_fn).__name__ or y.grad_fn.name(), y.grad_fn.name())  # added
x = x.detach()  # added

# TorchScript 模式
y = x + 1 # 记录到计算图
# added
f = torch.compile(lambda x: x + 1)
print(torch.equal(f(x), y))
# end

# Vmap 模式
y = vmap(lambda x: x + 1)(x) # 批量映射
print(torch.equal(y, x + 1))  # added

# FakeTensor 模式（用于元信息推导）
# added
with FakeTensorMode() as mode:
    x = mode.from_tensor(x)
# end
    y = x + 1 # 不执行实际计算，只推导形状和类型
print(tuple(y.shape), y.dtype is torch.float32)  # added
