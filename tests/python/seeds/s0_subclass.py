import torch

class MyTensor(torch.Tensor):
    """自定义 Tensor 类"""

    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_subclass(cls, data)

    def __repr__(self):
        return f"MyTensor({super().__repr__()})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """拦截所有操作"""

        def unwrap(x):
            return x.data if isinstance(x, MyTensor) else x

        def wrap(x):
            return MyTensor(x) if isinstance(x, torch.Tensor) else x

        # 解包
        args = tuple(unwrap(a) for a in args)
        kwargs = {k: unwrap(v) for k, v in (kwargs or {}).items()}

        # 执行原始操作
        result = func(*args, **kwargs)

        # 包装回 MyTensor
        return wrap(result)

# 使用
x = MyTensor(torch.randn(3, 4))
y = x + 1 # 自动拦截并包装结果
print(type(y)) # <class '__main__.MyTensor'>
