// Code that is compiled once for several pairs: those whose plans are the same but for a signature that the code
// doesn't look at, and pairs whose thunks were dropped.
#include "tests/diff/many_calls.h"

#include <shunt/core/library.h>
#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace diff {
namespace {

using namespace shunt;

std::optional<jit::PairStats> pairOf(const char* op, const char* dtype) {
  const auto pairs = jit::stats().pairs;
  const auto found = std::ranges::find_if(
      pairs, [&](const jit::PairStats& p) { return p.op == op && p.signature.find(dtype) != std::string::npos; });
  return found != pairs.end() ? std::optional(*found) : std::nullopt;
}

bool isReused(const jit::PairStats& pair) { return pair.plan.find("as compiled before") != std::string::npos; }

template <class Call>
void repeat(Call&& call) {
  for (int i = 0; i < 100; ++i) call();
}

class Reuse : public testing::Test {
 protected:
  void SetUp() override { jit::clear(); }

  const Tensor f = numbers({3, 4}, kFloat), d = numbers({3, 4}, kDouble);
};

TEST_F(Reuse, AViewsCodeServesEveryDtype) {
  repeat([&] { EXPECT_EQ(f.transpose(0, 1).sizes(), IntArrayRef({4, 3})); });
  repeat([&] { EXPECT_EQ(d.transpose(0, 1).scalar_type(), kDouble); });
  const auto first = pairOf("aten::transpose.int", "Float"), second = pairOf("aten::transpose.int", "Double");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->state, jit::PairState::kCompiled);
  EXPECT_EQ(second->state, jit::PairState::kCompiled);
  EXPECT_TRUE(isReused(*second)) << second->plan;
  EXPECT_EQ(second->times.extract + second->times.optimise + second->times.generate, 0);
  EXPECT_EQ(first->bytes, second->bytes);
}

TEST_F(Reuse, LoopsOfDifferentDtypesAreNotTheSameCode) {
  repeat([&] { f.mul(f); });
  repeat([&] { d.mul(d); });
  const auto second = pairOf("aten::mul.Tensor", "Double");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, jit::PairState::kCompiled);
  EXPECT_FALSE(isReused(*second)) << second->plan;
}

TEST_F(Reuse, APairWhoseThunkWasDroppedGetsItsCodeAgain) {
  jit::set_enabled(false);
  const std::string expected = bytesOf(f.sub(f.neg()));
  jit::set_enabled(true);
  repeat([&] { f.sub(f.neg()); });
  jit::clear();
  repeat([&] { EXPECT_EQ(bytesOf(f.sub(f.neg())), expected); });
  const auto pair = pairOf("aten::sub.Tensor", "Float");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->state, jit::PairState::kCompiled);
  EXPECT_TRUE(isReused(*pair)) << pair->plan;
}

Tensor twice(const Tensor& self) { return self.add(self); }

// The table's content is part of the key.
TEST_F(Reuse, AnOverrideIsNotOverlooked) {
  const std::string negative = bytesOf(f.neg());
  repeat([&] { f.neg(); });
  {
    Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    block.impl("neg", &twice);
    repeat([&] { EXPECT_EQ(bytesOf(f.neg()), bytesOf(f.add(f))); });
    repeat([&] { EXPECT_EQ(bytesOf(d.neg()), bytesOf(d.add(d))); });
  }
  repeat([&] { EXPECT_EQ(bytesOf(f.neg()), negative); });
  const auto pair = pairOf("aten::neg", "Float");
  ASSERT_TRUE(pair);
  EXPECT_TRUE(isReused(*pair)) << pair->plan;
}

}  // namespace
}  // namespace diff
