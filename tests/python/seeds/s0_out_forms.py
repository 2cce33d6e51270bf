# added
import torch
x = torch.randn(3)
# end
# 结构化 kernel：统一处理 functional 和 out 变体

# 用户可能调用：
y = torch.add(x, 1) # functional 形式
z = y.clone()  # added
torch.add(x, 1, out=y) # out 形式

# Dispatcher 内部统一调度到同一个"结构化 kernel"
# 减少代码重复
print(torch.equal(y, z))  # added
