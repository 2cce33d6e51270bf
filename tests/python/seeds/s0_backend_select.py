import torch  # added
# 作用：根据输入 tensor 的设备选择后端

def example(x, y):
    return x + y

# x 和 y 都在 CPU -> 选择 CPU backend
result1 = example(torch.randn(10), torch.randn(10))

# added
print(result1.device)
try:
    example(torch.randn(10), torch.randn(10, device='meta'))
except RuntimeError as error:
    print("两个设备:", "cpu" in str(error) and "meta" in str(error))
if not torch.cuda.is_available():
    raise SystemExit
# end
# x 和 y 都在 CUDA -> 选择 CUDA backend
result2 = example(torch.randn(10, device='cuda'), torch.randn(10, device='cuda'))

# x 和 y 在不同设备 -> 错误！
# result3 = example(torch.randn(10), torch.randn(10, device='cuda')) # 报错
