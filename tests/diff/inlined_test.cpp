// Operators inlined into the thunks of those that call them: that they are, that results are the interpreter's, and
// that each stays a call of its own: with its own keys, and without the thunk once an entry that it relied on has
// changed.
#include "tests/diff/thunks.h"
#include "tests/support/same_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

namespace diff {
namespace {

using namespace shunt;
using shunt::test::sameBits;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr float kMark = 77;
Tensor markedAddmm(const Tensor&, const Tensor& a, const Tensor& b, const Scalar&, const Scalar&) {
  return shunt::full({a.size(0), b.size(1)}, kMark, TensorOptions(kFloat));
}
bool isMarked(const Tensor& t) { return static_cast<const float*>(t.data_ptr())[1] == kMark; }

Library overrideOfAddmm() {
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("addmm", &markedAddmm);
  return block;
}

// Not of floats by default: their linear calls no other operators (Note [Direct linear], kernels/nn/direct_linear.h).
struct Operands {
  explicit Operands(ScalarType dtype = kHalf, bool grad = false, int64_t m = 5, int64_t k = 7, int64_t n = 3) {
    const auto drawn = [&](IntArrayRef sizes) { return shunt::randn(sizes).to(dtype).requires_grad_(grad); };
    input = drawn({m, k}), weight = drawn({n, k}), bias = drawn({n}), batch = drawn({2, m, k});
  }
  Tensor input, weight, bias, batch;
};

/// Operators, other than its own, on which thunks of `op` have edges.
std::set<std::string> inlinedInto(const std::string& op) {
  std::set<std::string> out;
  for (const auto& t : jit::publishedThunks())
    for (const jit::Edge& e : t->edges)
      if (t->op->name() == op && e.op != nullptr && e.op != t->op) out.insert(std::string(e.op->name()));
  return out;
}

Tensor interpreted(const std::function<Tensor()>& f) {
  jit::set_enabled(false);
  Tensor out = f();
  jit::set_enabled(true);
  return out;
}

class Inlined : public testing::Test {
 protected:
  void SetUp() override { jit::clear(); }

  /// Two calls compile; the next one is in one thunk, and none inside it.
  static Tensor inOneThunk(const std::function<Tensor()>& f) {
    f();
    f();
    const uint64_t before = jit::calls_in_thunks();
    Tensor out = f();
    EXPECT_EQ(jit::calls_in_thunks() - before, 1u) << "a call of one thunk, and of none inside it";
    return out;
  }
};

TEST_F(Inlined, LinearHasItsOperators) {
  const Operands x;
  const auto call = [&] { return shunt::linear(x.input, x.weight, x.bias); };
  const Tensor expected = interpreted(call);
  EXPECT_TRUE(sameBits(inOneThunk(call), expected, {.requires_grad = true}));
  EXPECT_EQ(inlinedInto("aten::linear"), (std::set<std::string>{"aten::t", "aten::addmm"}));
}

TEST_F(Inlined, OperatorsInsideInlinedOnesToo) {
  const NoGradGuard guard;  // what records gradients is larger than what one thunk takes of other operators
  const Operands x;
  const auto call = [&] { return shunt::linear(x.input, x.weight); };
  const Tensor expected = interpreted(call);
  EXPECT_TRUE(sameBits(inOneThunk(call), expected, {.requires_grad = true}));
  EXPECT_EQ(inlinedInto("aten::linear"), (std::set<std::string>{"aten::t", "aten::matmul", "aten::mm"}));
}

TEST_F(Inlined, EveryShapeDtypeAndModeGivesTheInterpretersBits) {
  for (const ScalarType dtype : {kFloat, kBFloat16})
    for (const bool grad : {false, true})
      for (const bool autocast : {false, true}) {
        SCOPED_TRACE(testing::Message() << toString(dtype) << " grad " << grad << " autocast " << autocast);
        std::optional<AutocastGuard> guard;
        if (autocast) guard.emplace(kCPU, kBFloat16);
        for (const int64_t m : {1, 4}) {
          const Operands x(dtype, grad, m, 16, 8);
          const std::function<Tensor()> calls[] = {
              [&] { return shunt::linear(x.input, x.weight, x.bias); },
              [&] { return shunt::linear(x.input, x.weight); },
              [&] { return shunt::linear(x.batch, x.weight, x.bias); },
              [&] { return shunt::matmul(x.batch, x.weight.t()); },
              [&] { return shunt::matmul(x.input, x.weight.t()); },
              [&] { return x.batch.reshape({-1, 16}); },
          };
          for (const auto& call : calls) {
            const Tensor expected = interpreted(call);
            for (int i = 0; i < 3; ++i)
              EXPECT_TRUE(sameBits(call(), expected, {.requires_grad = true})) << "m = " << m << ", call " << i;
          }
        }
      }
}

TEST_F(Inlined, GradientsAreTheInterpreters) {
  const Operands x(kFloat, true);
  const auto gradient = [&] {
    x.weight.mutable_grad() = Tensor();
    shunt::linear(x.input, x.weight, x.bias).sum().backward();
    return x.weight.grad();
  };
  const Tensor expected = interpreted(gradient);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(sameBits(gradient(), expected, {.requires_grad = true}));
}

// One thunk of linear serves calls with and without gradients: what it calls has keys of its own.
TEST_F(Inlined, KeysAreComputedAtEveryCall) {
  const Operands x(kHalf, true);
  for (int i = 0; i < 3; ++i) {
    {
      NoGradGuard guard;
      for (int j = 0; j < 3; ++j) EXPECT_FALSE(shunt::linear(x.input, x.weight, x.bias).requires_grad());
      ASSERT_THAT(inlinedInto("aten::linear"), Contains("aten::addmm"));
    }
    for (int j = 0; j < 3; ++j) EXPECT_EQ(shunt::linear(x.input, x.weight, x.bias).grad_fn()->name(), "AddmmBackward0");
  }
}

TEST_F(Inlined, AnOverrideIsInForceAtOnce) {
  const Operands x;
  for (int i = 0; i < 3; ++i) {
    shunt::linear(x.input, x.weight, x.bias);
    x.input.add(x.input);
  }
  const Published before = published();
  std::optional<Library> change(overrideOfAddmm());
  const auto log = jit::invalidation_log();  // a ring
  EXPECT_TRUE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
  std::vector<std::string> last;
  for (size_t i = log.size() - std::min<size_t>(log.size(), 3); i < log.size(); ++i)
    last.push_back(log[i].what + " <- " + log[i].cause);
  EXPECT_THAT(last, Contains("aten::linear keys={CPU} <- aten::addmm: CPU changed to kernel"));
  for (const ThunkName& name : gone(before)) EXPECT_THAT(name.op, Not(HasSubstr("add.Tensor")));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
  change.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
}

// t, which linear calls first, replaces addmm, which it calls next: the call that is in the thunk has to see that.
TEST_F(Inlined, AnOverrideIsInForceInTheCallThatIsUnderWay) {
  const Operands x;
  static std::optional<Library> change;
  static bool act;
  act = false;
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("t", [](const Tensor& a) {
    if (std::exchange(act, false)) change.emplace(overrideOfAddmm());
    return a.transpose(0, 1);
  });
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
  ASSERT_EQ(inlinedInto("aten::linear"), (std::set<std::string>{"aten::t", "aten::addmm"}));
  const uint64_t thunks = jit::calls_in_thunks();
  act = true;
  EXPECT_TRUE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
  EXPECT_GT(jit::calls_in_thunks(), thunks) << "the call has to be in a thunk";
  EXPECT_FALSE(act);
  change.reset();
  EXPECT_FALSE(isMarked(shunt::linear(x.input, x.weight, x.bias)));
}

// linear of floats calls no operators where nobody would see them, in its thunk too (Note [Direct linear]).
TEST_F(Inlined, AnOverrideIsInForceForLinearOfFloats) {
  const Operands x(kFloat);
  const auto call = [&] { return shunt::linear(x.input, x.weight, x.bias); };
  const Tensor expected = interpreted(call);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(sameBits(inOneThunk(call), expected, {.requires_grad = true}));
    const Library block = overrideOfAddmm();
    const uint64_t thunks = jit::calls_in_thunks();
    EXPECT_TRUE(isMarked(call()));
    EXPECT_GT(jit::calls_in_thunks(), thunks) << "linear relies on no entry of addmm, so its thunk stays";
  }
  EXPECT_FALSE(isMarked(call()));
}

TEST_F(Inlined, ErrorsAreTheInterpreters) {
  const Operands x, other(kHalf, false, 5, 9, 3);
  const auto message = [&] {
    try {
      shunt::linear(x.input, other.weight, other.bias);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  jit::set_enabled(false);
  const std::string expected = message();
  jit::set_enabled(true);
  for (int i = 0; i < 3; ++i) shunt::linear(x.input, x.weight, x.bias);
  ASSERT_THAT(inlinedInto("aten::linear"), Contains("aten::addmm"));
  EXPECT_THAT(expected, HasSubstr("shapes cannot be multiplied"));
  EXPECT_EQ(message(), expected);
  EXPECT_EQ(detail::threadFrames().depth(), 0);
}

// A mode's handler sees the operators inside, in a thunk or not.
TEST_F(Inlined, AKeyThatAModeAddsLeadsPast) {
  const Operands x;
  for (int i = 0; i < 3; ++i) shunt::linear(x.input, x.weight, x.bias);
  Library block(Library::Kind::kImpl, "aten", DispatchKey::Tracer);
  static int seen;
  seen = 0;
  block.impl("linear", CppFunction::makeFallthrough());
  block.impl("t", CppFunction::makeFallthrough());
  block.impl("addmm",
             [](const Tensor& bias, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
               ++seen;
               ExcludeDispatchKeyGuard guard(DispatchKey::Tracer);
               return shunt::addmm(bias, a, b, beta, alpha);
             });
  for (int i = 1; i <= 3; ++i) {
    shunt::linear(x.input, x.weight, x.bias);
    IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
    shunt::linear(x.input, x.weight, x.bias);
    EXPECT_EQ(seen, i);
  }
}

TEST_F(Inlined, OtherThreadsOverridesAreInForceForLaterCalls) {
  std::atomic<int> changes{0}, seen{0};
  std::atomic<bool> stop{false}, wrong{false};
  std::thread caller([&] {
    const Operands x;
    while (!stop.load()) {
      const int begun = changes.load(std::memory_order_acquire);
      const bool marked = isMarked(shunt::linear(x.input, x.weight, x.bias));
      // Even: nothing is under way; half of those with the override in force.
      if (changes.load(std::memory_order_acquire) == begun && begun % 2 == 0 && marked != (begun % 4 == 2))
        wrong = true;
      seen.fetch_add(1);
    }
  });
  const auto waitForCalls = [&] {
    for (const int from = seen.load(); seen.load() < from + 10;) std::this_thread::yield();
  };
  for (int round = 0; round < 20; ++round) {
    waitForCalls();
    changes.fetch_add(1);
    std::optional<Library> change(overrideOfAddmm());
    changes.fetch_add(1);
    waitForCalls();
    changes.fetch_add(1);
    change.reset();
    changes.fetch_add(1);
  }
  stop = true;
  caller.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace diff
