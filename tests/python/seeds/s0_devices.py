import torch

x = torch.randn(10)

# 同样是加法操作：
y1 = x + 1 # CPU 上执行
# added
print(y1.device, torch.equal(y1, torch.add(x, 1)))
for name in ("cuda", "mps"):
    try:
        x.to(name)
    except (RuntimeError, AssertionError) as error:
        print(name, "is an error:", type(error).__name__)
if not torch.cuda.is_available():
    raise SystemExit
# end
y2 = x.cuda() + 1 # GPU 上执行
y3 = x.to('mps') + 1 # Apple M1/M2 GPU 上执行

# 问题：PyTorch 如何知道调用哪个实现？
