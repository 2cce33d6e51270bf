// What is Shunt's alone: allocation, registration, boxed calls, many operators.
#include <shunt/shunt.h>

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace {

using namespace shunt;

void makeAndFreeTensor(benchmark::State& state) {
  const int64_t n = 16;
  for (auto _ : state) {
    Tensor t(detail::makeCpuTensor(IntArrayRef(&n, 1), {}, kFloat));
    benchmark::DoNotOptimize(t.unsafeGetTensorImpl());
  }
}
BENCHMARK(makeAndFreeTensor)->Name("shunt/allocate/tensor of 16 floats");

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
BENCHMARK(twoMallocs)->Name("shunt/allocate/two malloc and free");

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
  for (auto _ : state) benchmark::DoNotOptimize(op.call(x));
}
BENCHMARK(callAmong)->Name("shunt/call with 100 operators")->Arg(100);
BENCHMARK(callAmong)->Name("shunt/call with 10000 operators")->Arg(10000);

void registerOne(benchmark::State& state) {
  for (auto _ : state) {
    Library library(Library::Kind::kFragment, "bench_one");
    library.def("f(Tensor x) -> int", CppFunction::makeUnboxed<&kernel>());
  }
}
BENCHMARK(registerOne)->Name("shunt/register and deregister one operator");

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
BENCHMARK(boxedCall)->Name("shunt/boxed call of add, 16 floats");

}  // namespace
