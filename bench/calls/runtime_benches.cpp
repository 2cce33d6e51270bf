// What is Shunt's alone: allocation, registration, boxed calls, many operators.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

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

// Made here, freed by another thread: the sum of what both spend on a tensor. Batches keep the hand-over out of it.
void freeOnAnotherThread(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kBatch = 4096;
  const int64_t n = 16;
  std::vector<Tensor> batch(kBatch);
  Clock::duration freeing{};
  std::atomic<int> turn{0};  // 0: maker, 1: freer, 2: the end
  std::thread freer([&] {
    while (true) {
      turn.wait(0);
      if (turn == 2) return;
      const auto start = Clock::now();
      for (Tensor& t : batch) t = Tensor();
      freeing = Clock::now() - start;
      turn = 0;
      turn.notify_one();
    }
  });
  for (auto _ : state) {
    const auto start = Clock::now();
    for (Tensor& t : batch) t = Tensor(detail::makeCpuTensor(IntArrayRef(&n, 1), {}, kFloat));
    const auto making = Clock::now() - start;
    turn = 1;
    turn.notify_one();
    turn.wait(1);
    state.SetIterationTime(std::chrono::duration<double>(making + freeing).count() / kBatch);
  }
  turn = 2;
  turn.notify_one();
  freer.join();
}
BENCHMARK(freeOnAnotherThread)->Name("interpreted/tensor of 16 floats, freed on another thread")->UseManualTime()->Iterations(100);

// The yardstick: two plain allocations of the sizes a tensor struct and its data have.
void twoMallocs(benchmark::State& state) {
  for (auto _ : state) {
    void* header = std::malloc(sizeof(TensorImpl));
    void* data = std::malloc(16 * sizeof(float));
    benchmark::DoNotOptimize(header);
    benchmark::DoNotOptimize(data);
    benchmark::ClobberMemory();
    std::free(data);
    std::free(header);
  }
}
BENCHMARK(twoMallocs)->Name("interpreted/two malloc and free");

int64_t kernel(const Tensor& t) { return t.dim(); }

Library& manyOperators(int64_t count) {
  static Library library(Library::Kind::kFragment, "bench_many");
  static int64_t made = 0;
  for (; made < count; ++made) library.def("op" + std::to_string(made) + "(Tensor x) -> int", CppFunction::makeUnboxed<&kernel>());
  return library;
}

void callAmong(benchmark::State& state) {
  manyOperators(state.range(0));
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

}  // namespace
