// Wrapper tensors and the compiler: their keyset has nothing to compile, and what their handlers call is compiled as
// ever.
#include "src/dispatch/thunk.h"

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <set>

namespace shunt {
namespace {

std::set<void*> addresses() {
  std::set<void*> all;
  for (const auto& t : jit::publishedThunks()) all.insert(t->code);
  return all;
}

struct PassOn : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override { call_unwrapped<PassOn>(op, stack); }
};

/// Calls the operators of step() through their typed functions.
struct Typed : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override {
    const Tensor x = unwrap<Typed>((*stack)[0].toTensor());
    const std::string name = op.operator_name().name;
    if (name == "aten::relu")
      *stack = {wrap<Typed>(x.relu())};
    else if (name == "aten::mul")
      *stack = {wrap<Typed>(x.mul(unwrap<Typed>((*stack)[1].toTensor())))};
    else if (name == "aten::add")
      *stack = {wrap<Typed>(x.add(unwrap<Typed>((*stack)[1].toTensor())))};
    else
      call_unwrapped<Typed>(op, stack);
  }
};

Tensor step(const Tensor& x, const Tensor& w) { return x.add(w).relu().mul(x).sum(); }

template <class Class>
void expectThunksStay(uint64_t least_in_thunks) {
  const Tensor x = randn({16}), w = randn({16}).requires_grad_();
  const float expected = step(x, w).item<float>();
  for (int i = 0; i < 100; ++i) step(x, w);
  const auto before = addresses();
  const auto compiled = jit::stats().compiled;
  ASSERT_GE(before.size(), 3u);

  const Tensor wrapped = wrap<Class>(x), weight = wrap<Class>(w);
  const uint64_t in_thunks = jit::calls_in_thunks();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(unwrap<Class>(step(wrapped, weight)).template item<float>(), expected);
  EXPECT_GE(jit::calls_in_thunks(), in_thunks + least_in_thunks);
  EXPECT_EQ(addresses(), before);
  EXPECT_EQ(jit::stats().compiled, compiled) << jit::statsTable();

  const uint64_t after = jit::calls_in_thunks();
  EXPECT_EQ(step(x, w).item<float>(), expected);
  EXPECT_GE(jit::calls_in_thunks(), after + 3) << "they are not met again";
}

TEST(JitSubclasses, CallsOnWrappersCompileNothingAndMoveNoThunk) { expectThunksStay<PassOn>(0); }

// Three of a step's four; now and then a call is timed without its thunk.
TEST(JitSubclasses, TypedCallsOfHandlersHitThunks) { expectThunksStay<Typed>(2900); }

}  // namespace
}  // namespace shunt
