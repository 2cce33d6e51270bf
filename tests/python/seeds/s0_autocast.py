# added
import torch
model = torch.nn.Linear(4, 8)
input = torch.randn(5, 4)
# end
# PyTorch 的 autocast 就是通过 Dispatcher 实现的

# added
with torch.autocast("cpu", dtype=torch.bfloat16):
    output = model(input)
print(output.dtype is torch.bfloat16)
# end
with torch.cuda.amp.autocast():
    # 某些操作自动转为 float16
    output = model(input)

# 内部流程：
# 1. 进入 autocast 上下文
# 2. 添加 Autocast DispatchKey
# 3. Dispatcher 检测到 Autocast key
# 4. 根据规则自动转换精度
print(output.dtype is torch.float32)  # added: the tensors are on the CPU
