// What is Shunt's alone: allocation, registration, boxed calls, many operators.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace {

using namespace shunt;

void makeAndFreeTensor(benchmark::State& state) {
  const int64_t n = 16;
  for (auto _ : state) {
    Tensor t(detail::makeCpuTensor(IntArrayRef(&n, 1), {}, kFloat));
    benchmark::DoNotOptimize(t.unsafeGetTensorImpl());
  }
}
BENCHMARK(makeAndFreeTensor)->Name("interpreted/tensor of 16 floats");

/// CPU time of the calling thread: what interrupts it is not its own.
double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Keeps the calling thread on the n-th of the CPUs that it may use, for the scope's length.
class OnCpu {
 public:
  explicit OnCpu(int n) {
    pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0, left = n % CPU_COUNT(&before_); cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && left-- == 0) CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  }
  ~OnCpu() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  cpu_set_t before_;
};

// Made here, freed by another thread: the sum of what both spend on one. Batches keep the hand-over out of it. Each has
// a CPU of its own: on one and the same, memory that the other has touched costs a third.
template <class T, class Make, class Free>
void freeOnAnotherThread(benchmark::State& state, Make make, Free free) {
  constexpr size_t kBatch = 4096;
  std::vector<T> batch(kBatch);
  double freeing = 0;
  std::atomic<int> turn{0};  // 0: maker, 1: freer, 2: the end
  std::thread freer([&] {
    const OnCpu other(1);
    while (true) {
      turn.wait(0);
      if (turn == 2) return;
      const double start = threadSeconds();
      for (T& t : batch) free(t);
      freeing = threadSeconds() - start;
      turn = 0;
      turn.notify_one();
    }
  });
  const OnCpu maker(0);  // now, as the other thread would have begun with this one's CPUs
  for (auto _ : state) {
    const double start = threadSeconds();
    for (T& t : batch) t = make();
    const double making = threadSeconds() - start;
    turn = 1;
    turn.notify_one();
    turn.wait(1);
    state.SetIterationTime((making + freeing) / kBatch);
  }
  turn = 2;
  turn.notify_one();
  freer.join();
}

void freeTensorOnAnotherThread(benchmark::State& state) {
  const int64_t n = 16;
  freeOnAnotherThread<Tensor>(
      state, [&] { return Tensor(detail::makeCpuTensor(IntArrayRef(&n, 1), {}, kFloat)); },
      [](Tensor& t) { t = Tensor(); });
}
BENCHMARK(freeTensorOnAnotherThread)
    ->Name("interpreted/tensor of 16 floats, freed on another thread")
    ->UseManualTime()
    ->Iterations(100);

// The yardstick: two plain allocations of the sizes a tensor struct and its data have.
struct TwoBlocks {
  void *header = nullptr, *data = nullptr;
};

TwoBlocks makeTwoBlocks() { return {std::malloc(sizeof(TensorImpl)), std::malloc(16 * sizeof(float))}; }

void freeTwoBlocks(TwoBlocks& b) {
  std::free(b.data);
  std::free(b.header);
}

void twoMallocs(benchmark::State& state) {
  for (auto _ : state) {
    TwoBlocks b = makeTwoBlocks();
    benchmark::DoNotOptimize(b);
    benchmark::ClobberMemory();
    freeTwoBlocks(b);
  }
}
BENCHMARK(twoMallocs)->Name("interpreted/two malloc and free");

void twoMallocsOnAnotherThread(benchmark::State& state) {
  freeOnAnotherThread<TwoBlocks>(state, &makeTwoBlocks, &freeTwoBlocks);
}
BENCHMARK(twoMallocsOnAnotherThread)
    ->Name("interpreted/two malloc, freed on another thread")
    ->UseManualTime()
    ->Iterations(100);

int64_t kernel(const Tensor& t) { return t.dim(); }

/// Sees to it that exactly `count` operators of this benchmark are registered: repetitions come in random order.
void registerMany(int64_t count) {
  constexpr int64_t kAlways = 100;
  static std::vector<std::unique_ptr<Library>> blocks;  // of kAlways operators each
  while (static_cast<int64_t>(blocks.size()) * kAlways > count) blocks.pop_back();
  while (static_cast<int64_t>(blocks.size()) * kAlways < count) {
    auto library = std::make_unique<Library>(Library::Kind::kFragment, "bench_many");
    for (int64_t i = 0; i < kAlways; ++i)
      library->def(detail::str("op", blocks.size() * kAlways + i, "(Tensor x) -> int"),
                   CppFunction::makeUnboxed<&kernel>());
    blocks.push_back(std::move(library));
  }
}

void callAmong(benchmark::State& state) {
  registerMany(state.range(0));
  const auto op = Dispatcher::singleton().findSchemaOrThrow("bench_many::op0").typed<int64_t(const Tensor&)>();
  const Tensor x = empty({16}, kFloat);
  jit::set_enabled(false);
  for (auto _ : state) benchmark::DoNotOptimize(op.call(x));
}
BENCHMARK(callAmong)->Name("interpreted/call with 100 operators")->Arg(100);
BENCHMARK(callAmong)->Name("interpreted/call with 10000 operators")->Arg(10000);

void registerAndDeregister(benchmark::State& state) {
  for (auto _ : state) {
    Library library(Library::Kind::kFragment, "bench_one");
    library.def("f(Tensor x) -> int", CppFunction::makeUnboxed<&kernel>());
  }
}
BENCHMARK(registerAndDeregister)->Name("interpreted/register and deregister one operator");

void registerOne(benchmark::State& state) {
  for (auto _ : state) {
    Library library(Library::Kind::kFragment, "bench_one");
    const auto start = std::chrono::steady_clock::now();
    library.def("f(Tensor x) -> int", CppFunction::makeUnboxed<&kernel>());
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}
BENCHMARK(registerOne)->Name("interpreted/register one operator")->UseManualTime();

void boxedCall(benchmark::State& state) {
  const OperatorHandle op = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const Tensor a = randn({16}), b = randn({16});
  NoGradGuard no_grad;
  for (auto _ : state) {
    Stack stack{a, b, 1};
    op.callBoxed(&stack);
    benchmark::DoNotOptimize(stack.data());
  }
}
BENCHMARK(boxedCall)->Name("interpreted/boxed call of add, 16 floats");

// Backward alone: graphs are made before and freed after it, and each finds a leaf that has no gradient. CPU time.
void backwardOfAChain(benchmark::State& state) {
  constexpr size_t kGraphs = 16, kNodes = 5;
  jit::set_enabled(false);
  const Tensor x = randn({16}).requires_grad_(), w = randn({16}), seed = randn({16});
  std::vector<Tensor> graphs(kGraphs);
  for (auto _ : state) {
    for (Tensor& y : graphs) y = x.mul(w).add(w).relu().sigmoid().mul(2);
    const double start = threadSeconds();
    for (const Tensor& y : graphs) {
      x.mutable_grad() = Tensor();
      y.backward(seed);
    }
    state.SetIterationTime((threadSeconds() - start) / (kGraphs * kNodes));
  }
}
BENCHMARK(backwardOfAChain)
    ->Name("interpreted/backward of a chain of 5 nodes, 16 floats, per node")
    ->UseManualTime()
    ->Iterations(1000);

struct PassOn : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
};

// Against add/16/no_grad: what a mode that does nothing costs a call.
void callUnderMode(benchmark::State& state) {
  const Tensor a = randn({16}), b = randn({16});
  NoGradGuard no_grad;
  PassOn mode;
  const DispatchModeGuard guard(mode);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
}
BENCHMARK(callUnderMode)->Name("interpreted/add of 16 floats, under a mode that does nothing");

}  // namespace
