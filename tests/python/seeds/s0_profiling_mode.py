# added
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
input_data = torch.randn(5, 4)
# end
class ProfilingMode(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()  # added
        self.op_counts = {}
        self.op_times = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        import time

        # 记录调用次数
        op_name = func.__name__
        self.op_counts[op_name] = self.op_counts.get(op_name, 0) + 1

        # 记录执行时间
        start = time.time()
        result = func(*args, **(kwargs or {}))
        torch.cuda.synchronize() if torch.cuda.is_available() else None
        elapsed = time.time() - start

        self.op_times[op_name] = self.op_times.get(op_name, 0) + elapsed

        return result

    def report(self):
        print("\n操作统计:")
        for op, count in sorted(self.op_counts.items(), key=lambda x: -x[1]):
            time_ms = self.op_times[op] * 1000
            print(f" {op:30} 调用: {count:5} 次, 总时间: {time_ms:.2f}ms")

# 使用
profiler = ProfilingMode()
with profiler:
    model(input_data)

profiler.report()
