# added
import torch
if not torch.cuda.is_available():
    try:
        torch.randn(10, device='cuda', requires_grad=True)
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        print("cuda is an error:", "CUDA" in str(error))
    raise SystemExit
# end
x = torch.randn(10, device='cuda', requires_grad=True)
y = x + 1

# Dispatcher 检查顺序：
# 1. Python dispatch? -> 否
# 2. Functionalize? -> 否
# 3. ADInplaceOrView? -> 否
# 4. AutogradCUDA? -> 是！执行 Autograd 逻辑
#

# 5. 记录反向传播信息
# 6. 继续调度到底层 kernel
#

# 7. BackendSelect? -> 选择 CUDA
# 8. CUDA kernel? -> 是！执行 add_cuda_kernel()
print("cuda", y.grad_fn.name())  # added
