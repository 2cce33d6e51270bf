import torch  # added
# AutogradCPU, AutogradCUDA 等
# 作用：自动记录梯度信息

x = torch.randn(10, requires_grad=True)
y = x * 2 # 触发 AutogradCPU dispatch

# Dispatcher 流程：
# 1. 检测到 requires_grad=True
# 2. 使用 AutogradCPU key
# 3. 记录反向传播信息
# 4. 继续调度到 CPU kernel 执行实际计算
# added
print(y.grad_fn)
y.sum().backward()
print(x.grad.tolist() == [2.0] * 10)
# end
