import torch  # added
# 作用：不执行实际计算，只推导元信息（形状、dtype 等）

from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode():
    x = torch.randn(100, 100) # 不分配实际内存
    y = x @ x # 不执行实际计算
    print(y.shape) # 但知道输出形状：(100, 100)

# 用于编译时的形状推导，不需要实际数据
