import torch  # added
# 作用：将 inplace 操作转换为 out-of-place

x = torch.randn(10)

# Inplace 操作
# added
before = x.clone()
counts = []
class Counting(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        counts.append(str(func.overloadpacket))
        return func(*args, **(kwargs or {}))
def f(x):
# end
    x.add_(1) # 修改 x
# added
    return x
with Counting():
    torch.func.functionalize(f)(x)
print(torch.equal(x, before + 1), "aten.add_" in counts, "aten.add" in counts)
# end

# Functionalization 后：
# x_new = x.add(1) # 创建新 tensor
# 然后更新引用

# 这对编译很有用（避免别名问题）
