import torch  # added
# 作用：允许 Python 代码拦截调度

class CustomTensor(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print(f"Python dispatch: {func}")
        return func(*args, **(kwargs or {}))

# 使用 Python Key 拦截
# added
class Unwrapping(CustomTensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = tuple(a.data if isinstance(a, CustomTensor) else a for a in args)
        return super().__torch_dispatch__(func, types, args, kwargs)
x = torch.Tensor._make_subclass(Unwrapping, torch.ones(2))
print((x + 1).tolist())
# end
