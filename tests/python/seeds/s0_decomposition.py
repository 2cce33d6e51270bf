# added
import math
import torch
# end
# 复杂算子可以分解为简单算子

# 例如：gelu 可以分解为
def gelu_decomposition(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))

# 在 Dispatcher 中注册分解规则
# 某些后端如果没有原生 gelu 实现，会自动使用分解版本
# added
x = torch.randn(100)
print(torch.allclose(gelu_decomposition(x), torch.nn.functional.gelu(x), atol=1e-6))
# end
