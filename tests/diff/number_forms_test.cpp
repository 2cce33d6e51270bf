// Hot calls of operators that take a number for a tensor, while kernels of the tensor's form come and go: compiled
// thunks leave with the change that makes another operator's kernel the one to run.
#include "tests/dispatch/number_forms.h"
#include "tests/diff/thunks.h"

#include <shunt/core/library.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

namespace diff {
namespace {

using namespace shunt;
using namespace shunt::test;
using testing::HasSubstr;

Library overriding(const char* name, DispatchKey key, CppFunction kernel) {
  Library m(Library::Kind::kImpl, "aten", key);
  m.impl(name + 6, std::move(kernel));
  return m;
}

std::vector<std::byte> bitsOf(const Tensor& t) {
  const auto* first = static_cast<const std::byte*>(t.data_ptr());
  return {first, first + t.nbytes()};
}

bool hasThunk(const std::string& op) {
  for (const auto& [name, code] : published())
    if (name.op == op) return true;
  return false;
}

/// Runs it until it runs in a thunk, with the same bits each time; a pair that was invalidated before waits longer.
std::vector<std::byte> hot(const NumberForm& f, const Tensor& x) {
  const std::vector<std::byte> bits = bitsOf(f.run(x));
  for (int i = 0; i < 8 || (i < 1000 && !hasThunk(f.name)); ++i) EXPECT_EQ(bitsOf(f.run(x)), bits);
  EXPECT_TRUE(hasThunk(f.name)) << jit::statsTable();
  const uint64_t in_thunks = jit::calls_in_thunks();
  EXPECT_EQ(bitsOf(f.run(x)), bits);
  EXPECT_GT(jit::calls_in_thunks(), in_thunks);
  return bits;
}

class HotNumberForms : public testing::TestWithParam<NumberForm> {};

TEST_P(HotNumberForms, LeaveTheirThunksForAnOverrideOfTheTensorsForm) {
  const NumberForm& f = GetParam();
  const Tensor x = operandOf(f);
  jit::clear();
  jit::set_enabled(false);
  const std::vector<std::byte> interpreted = bitsOf(f.run(x));
  jit::set_enabled(true);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(hot(f, x), interpreted);
    {
      Meeting met;
      const Library m = overriding(f.made_of, DispatchKey::CPU, meeting(met));
      EXPECT_EQ(f.run(x).select(0, 2).item<double>(), kMark) << "the first call after the registration";
      for (int i = 0; i < 8; ++i) EXPECT_EQ(f.run(x).select(0, 2).item<double>(), kMark);
      EXPECT_EQ(met.calls, 9);
    }
    EXPECT_EQ(bitsOf(f.run(x)), interpreted) << "the first call after the withdrawal";
  }
}

INSTANTIATE_TEST_SUITE_P(All, HotNumberForms, testing::ValuesIn(numberForms()), [](const auto& info) {
  std::string name = info.param.name + 6;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(HotNumbers, LogWhatMadeTheirThunksGo) {
  const Tensor x = arange(16, kFloat), leaf = arange(16, kFloat).requires_grad_();
  for (int i = 0; i < 4; ++i) x.add(1), leaf.add(1), x.mul(2);
  const Published before = published();
  const size_t logged = jit::invalidation_log().size();
  Meeting met;
  std::optional<Library> m = overriding("aten::add.Tensor", DispatchKey::CPU, meeting(met));
  for (const ThunkName& name : gone(before))
    EXPECT_THAT(name.op, testing::AnyOf("aten::add.Scalar", "aten::add.Tensor"));
  EXPECT_GE(gone(before).size(), 2u) << "with and without grad";
  EXPECT_TRUE(hasThunk("aten::mul.Scalar"));
  for (const jit::InvalidationRecord& r : logSince(logged))
    if (r.what.find("add.Scalar") != std::string::npos)
      EXPECT_THAT(r.cause, HasSubstr("aten::add.Scalar: CPU changed to CompositeExplicitAutograd"));
  for (int i = 0; i < 4; ++i) leaf.add(1);
  m.reset();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(leaf.add(1).select(0, 3).item<float>(), 4);
  EXPECT_EQ(leaf.add(1).grad_fn()->name(), "AddBackward1");
}

TEST(HotNumbers, MeetAKernelForAutocastOfTheTensorsForm) {
  const Tensor x = arange(16, kFloat);
  const auto under = [&] {
    const AutocastGuard autocast(kCPU);
    return x.add(1).select(0, 2).item<float>();
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(under(), 3);
  Meeting met;
  std::optional<Library> m = overriding("aten::add.Tensor", DispatchKey::AutocastCPU, meeting(met));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(under(), kMark);
  EXPECT_EQ(met.calls, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(x.add(1).select(0, 2).item<float>(), 3);
  EXPECT_EQ(met.calls, 4);
  m.reset();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(under(), 3);
}

// As tests/dispatch/stand_in_test.cpp, with thunks: whoever has met an override by add.Tensor meets it by x + 1. Most
// overrides come and go as fast as they can; every 30th stays until each caller has met it, and then away until each
// has met the built-in kernel.
TEST(HotNumbers, AreNeverMetByWhoHasMetAnOverride) {
  struct Seen {
    std::atomic<int> both{0}, built_in{0};
  };
  Seen seen[2];
  std::atomic<int> going{0}, wrong{0};
  std::atomic<bool> stop{false};
  const auto caller = [&](Seen& mine) {
    const Tensor x = zeros({4});
    for (; !stop.load(); std::this_thread::yield()) {
      const int by_tensor = static_cast<int>(x.add(x).select(0, 0).item<float>());
      const int by_number = static_cast<int>(x.add(-1).select(0, 0).item<float>());
      if (by_tensor > 0 && by_number < by_tensor && going.load() < by_tensor) wrong.fetch_add(1);
      if (by_tensor > 0 && by_number == by_tensor) mine.both.fetch_add(1);
      if (by_number == -1) mine.built_in.fetch_add(1);
    }
  };
  std::thread callers[] = {std::thread(caller, std::ref(seen[0])), std::thread(caller, std::ref(seen[1]))};
  // Only a failure takes so long: a caller that never meets what is there.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  const auto waitForEach = [&](std::atomic<int> Seen::* kind) {
    const int before[] = {(seen[0].*kind).load(), (seen[1].*kind).load()};
    const auto waits = [&](int k) { return (seen[k].*kind).load() == before[k]; };
    while ((waits(0) || waits(1)) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  };
  for (int n = 1; n <= 300; ++n) {
    const bool stays = n % 30 == 0;
    {
      const Library m =
          overriding("aten::add.Tensor", DispatchKey::CPU,
                     CppFunction([n](const Tensor& a, const Tensor&, const Scalar&) { return full_like(a, n); }));
      if (stays) waitForEach(&Seen::both);
      std::this_thread::yield();
      going.store(n);
    }
    if (stays) waitForEach(&Seen::built_in);
  }
  stop.store(true);
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong.load(), 0);
  for (const Seen& s : seen) {
    EXPECT_GE(s.both.load(), 10);
    EXPECT_GE(s.built_in.load(), 10);
  }
}

}  // namespace
}  // namespace diff
