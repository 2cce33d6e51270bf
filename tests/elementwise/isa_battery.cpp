// Runs every elementwise loop over a fixed set of inputs and prints the instruction set in use and a checksum of all
// bits. isa_test starts it under several values of SHUNT_ISA.
#include "kernels/pointwise/isa_select.h"
#include "tests/elementwise/elementwise_test_util.h"

#include <shunt/core/isa.h>

#include <cstdio>

namespace shunt::elementwise_test {
namespace {

uint64_t checksum = 0xcbf29ce484222325;
int operations = 0;

void add(uint64_t bits) { checksum = (checksum ^ bits) * 0x100000001b3; }

void addTensor(const Tensor& t) {
  ++operations;
  dispatchAllTypes(t.dtype(), "checksum", [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      T value = get<T>(t, i);
      if constexpr (!std::is_integral_v<T>)
        if (static_cast<float>(value) != static_cast<float>(value)) value = std::numeric_limits<T>::quiet_NaN();
      uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      add(bits);
    }
  });
}

template <class F, size_t... I, size_t... S>
void runOne(ScalarType dtype, int64_t n, uint32_t repeated, std::index_sequence<I...>, std::index_sequence<S...>) {
  const auto& op = elementwise::kDescriptor<F>;
  Tensor in[F::kInputs];
  for (int k = 0; k < F::kInputs; ++k) {
    in[k] = makeTensor(op.loopInput(k, dtype), ((repeated >> k) & 1) != 0 ? Sizes{} : Sizes{n});
    fillInteresting(in[k], static_cast<uint64_t>(n * 10 + k));
  }
  const Scalar yes(true);
  const Scalar scalars[elementwise::kMaxScalars] = {dtype == kBool ? yes : 3, dtype == kBool ? yes : 2, yes};
  try {
    addTensor(elementwise::run<F>("op", in[I]..., scalars[S]...));
  } catch (const Error&) {
    add(0xdead);  // integer division by zero
  }
}

template <class F>
void runFunctor() {
  for (int t = 0; t < elementwise::kDtypeSlots; ++t) {
    if (((F::kTypes >> t) & 1) == 0) continue;
    for (int64_t n : {1, 16, 37, 4097})
      for (uint32_t repeated = 0; repeated < (n == 37 && F::kInputs > 1 ? 1u << F::kInputs : 1u); ++repeated)
        runOne<F>(static_cast<ScalarType>(t), n, repeated, std::make_index_sequence<F::kInputs>(),
                  std::make_index_sequence<F::kScalars>());
  }
}

void runCasts() {
  for (ScalarType from : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16})
    for (ScalarType to : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16}) {
      const Tensor source = makeTensor(from, {1003});
      fillInteresting(source, 4);
      Tensor out = makeTensor(to, {1003});
      elementwise::runOut<functors::Copy>("copy_", out, source);
      addTensor(out);
    }
}

}  // namespace
}  // namespace shunt::elementwise_test

int main() {
  using namespace shunt::elementwise_test;
#define SHUNT_FUNCTOR(name, shard, index) runFunctor<shunt::functors::name>();
  SHUNT_FORALL_FUNCTORS(SHUNT_FUNCTOR)
#undef SHUNT_FUNCTOR
  runCasts();
  // The tables that are really in use, so that the name is not all there is to it.
  const auto loops = shunt::elementwise::loopsOf(-1).pointwise[0];
  int level = -1;
  for (int i = 0; i < shunt::kNumIsas; ++i)
    if (shunt::elementwise::loopsOf(i).pointwise[0] == loops) level = i;
  std::printf("%s %d %d %016llx\n", shunt::isa_name(), level, operations, static_cast<unsigned long long>(checksum));
  return 0;
}
