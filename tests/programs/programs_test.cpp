// Random programs run the same however they are run.
#include "tests/programs/program.h"

#include "tests/support/seed.h"

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/jit/jit.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

namespace programs {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPrograms = 1000, kLongPrograms = 10000, kSeed = 20779;

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Drawn {
  Program program;
  Outcome outcome;
};

/// SHUNT_TEST_PROGRAM=seed draws that one alone, SHUNT_TEST_PROGRAMS=n as many, from the seed of tests/support/seed.h
/// on.
std::vector<Drawn> drawAll() {
  const uint64_t one = fromEnvironment("SHUNT_TEST_PROGRAM", 0);
  const uint64_t many = fromEnvironment("SHUNT_TEST_PROGRAMS", shunt::test::longRun() ? kLongPrograms : kPrograms);
  const uint64_t first = one != 0 ? one : shunt::test::seedOfComparison(kSeed) * kLongPrograms + 1;
  const bool jit = shunt::jit::enabled();
  shunt::jit::set_enabled(false);
  std::vector<Drawn> all;
  for (uint64_t i = 0; i < (one != 0 ? 1 : many); ++i) {
    Drawn& d = all.emplace_back();
    d.program = draw(first + i, &d.outcome);
  }
  std::cout << "SHUNT_TEST_SEED=" << shunt::test::seedOfComparison(kSeed) << ": programs " << first << " to "
            << first + all.size() - 1 << std::endl;
  shunt::jit::set_enabled(jit);
  return all;
}

const std::vector<Drawn>& programs() {
  static const std::vector<Drawn> all = drawAll();
  return all;
}

enum class Thunks { kRun, kDoNot };

/// `thunks`: whether the compiler, where there is one, has a part in the world.
void expectSame(const World& world, Level level, Thunks thunks = Thunks::kRun) {
  int shown = 0;
  const uint64_t in_thunks = shunt::jit::calls_in_thunks();
  size_t compared = 0;
  for (const auto& [program, expected] : programs()) {
    bool whole;
    const std::string difference = firstDifference(expected, run(program, world), level, &whole);
    compared += whole;
    if (difference.empty()) continue;
    ADD_FAILURE() << difference << "\n" << program.code();
    if (++shown == 5) FAIL() << "and perhaps more";
  }
  testing::Test::RecordProperty("compared_whole", static_cast<int64_t>(compared));
  if (programs().size() < kPrograms) return;
  EXPECT_GE(compared, programs().size() * 9 / 10);
  size_t steps = 0;
  for (const Drawn& d : programs()) steps += d.program.steps.size();
  const uint64_t ran = shunt::jit::calls_in_thunks() - in_thunks;
  testing::Test::RecordProperty("calls_in_thunks", static_cast<int64_t>(ran));
  std::cout << steps << " steps, " << ran << " calls in thunks" << std::endl;
#if defined(SHUNT_TEST_WITH_COMPILER)
  if (thunks == Thunks::kRun && shunt::jit::enabled()) EXPECT_GT(ran, steps / 20);
#else
  (void)thunks;
#endif
}

TEST(Programs, AreOfManyKinds) {
  const auto& all = programs();
  size_t steps = 0, with_errors = 0, differentiated = 0, aliases = 0;
  std::set<const Row*> used;
  for (const auto& [program, outcome] : all) {
    EXPECT_GE(program.steps.size(), 5u);
    EXPECT_LE(program.steps.size(), 30u);
    steps += program.steps.size();
    for (const Step& s : program.steps) used.insert(s.row);
    for (const std::string& error : outcome.errors) with_errors += !error.empty();
    differentiated += program.root >= 0 && outcome.errors.back().empty();
    for (size_t i = 0; i < outcome.slots.size(); ++i) aliases += outcome.slots[i].alias != static_cast<int>(i);
  }
  if (all.size() < kPrograms) GTEST_SKIP() << "too few programs";
  EXPECT_EQ(used.size(), rows().size());
  EXPECT_GT(steps, 15 * all.size());
  EXPECT_LT(with_errors, steps / 10);
  EXPECT_GT(differentiated, all.size() / 3);
  EXPECT_GT(aliases, all.size());
}

TEST(Programs, AreTheSameFromTheSameSeed) {
  Outcome first, second;
  EXPECT_EQ(draw(7, &first).code(), draw(7, &second).code());
  EXPECT_EQ(firstDifference(first, second, Level::kAll), "");
  EXPECT_NE(draw(7, &first).code(), draw(8, &second).code());
}

TEST(Programs, PrintThemselvesAsCode) {
  const auto rowOf = [](const std::string& code) {
    for (const Row& row : rows())
      if (row.code == code) return &row;
    throw std::runtime_error("no row " + code);
  };
  Program p;
  p.seed = 3;
  p.inputs = {{{2, 3}, shunt::kFloat, true, 17}, {{}, shunt::kLong, false, 4}};
  p.steps = {{rowOf("addcmul(a, b, c, v)"), {0, 1, 0}, {}, -0.5, false},
             {rowOf("a.add_(b)"), {2, 1, 0}, {}, 1, true},
             {rowOf("full({i, j}, v, kFloat)"), {0, 0, 0}, {2, 3, 0}, 1.5, true}};
  p.root = 2;
  EXPECT_EQ(p.code(), R"(// program 3; makeInput is that of tests/programs
Tensor t0 = programs::makeInput({{2, 3}, kFloat, true, 17u});
Tensor t1 = programs::makeInput({{}, kLong, false, 4u});
Tensor t2 = addcmul(t0, t1, t0, -0.5);
{ const NoGradGuard no_grad; t2.add_(t1); }
Tensor t3; { const NoGradGuard no_grad; t3 = full({2, 3}, 1.5, kFloat); }
t2.sum().backward();
)");
}

TEST(Programs, OnlyTheRoundingOfAWiderOperandIsForgiven) {
  const auto outcome = [](shunt::ScalarType other, double grad, std::vector<int64_t> sizes = {1}) {
    Outcome o;
    SlotState& slot = o.slots.emplace_back();
    slot.defined = true;
    slot.dtype = other;
    SlotState& g = o.grads.emplace_back(slot);
    g.dtype = shunt::kDouble;
    g.strides.assign(sizes.size(), 1);
    g.sizes = std::move(sizes);
    g.bytes.resize(sizeof grad);
    std::memcpy(o.grads[0].bytes.data(), &grad, sizeof grad);
    return o;
  };
  constexpr double kRounded = 0.1f, kNear = 0.1;
  EXPECT_EQ(firstDifference(outcome(shunt::kFloat, kRounded), outcome(shunt::kFloat, kNear), Level::kValues), "");
  EXPECT_NE(firstDifference(outcome(shunt::kFloat, kRounded), outcome(shunt::kFloat, kNear), Level::kAll), "");
  EXPECT_EQ(firstDifference(outcome(shunt::kBFloat16, 0.1), outcome(shunt::kBFloat16, 0.1002), Level::kValues), "");
  EXPECT_NE(firstDifference(outcome(shunt::kBFloat16, 0.1), outcome(shunt::kBFloat16, 0.104), Level::kValues), "");
  EXPECT_NE(firstDifference(outcome(shunt::kDouble, kRounded), outcome(shunt::kDouble, kNear), Level::kValues), "");
  EXPECT_NE(firstDifference(outcome(shunt::kFloat, kRounded), outcome(shunt::kFloat, 0.10001), Level::kValues), "");
  EXPECT_NE(firstDifference(outcome(shunt::kFloat, 3), outcome(shunt::kFloat, 3, {1, 1}), Level::kValues), "");
}

// A comparison that sees nothing would pass everything below.
TEST(Programs, DifferencesAreSeen) {
  Program p;
  p.inputs = {{{2, 3}, shunt::kFloat, true, 17}};
  const Outcome expected = run(p, World());
  EXPECT_EQ(firstDifference(expected, run(p, World()), Level::kAll), "");
  World other;
  other.leave = [](const Tensor& t) { return t.detach() + 1; };
  EXPECT_EQ(firstDifference(expected, run(p, other), Level::kAll), "t0: requires_grad: expected 1, got 0");
  other.leave = [](const Tensor& t) { return (t + 1).detach().requires_grad_(); };
  EXPECT_THAT(firstDifference(expected, run(p, other), Level::kValues), HasSubstr("t0: bytes: expected "));
  EXPECT_EQ(firstDifference(expected, run(p, other), Level::kGeometry), "");
  other.leave = [](const Tensor& t) { return t.t(); };
  EXPECT_EQ(firstDifference(expected, run(p, other), Level::kGeometry), "t0: sizes: expected [2, 3], got [3, 2]");
}

// With the compiler where there is one: SHUNT_JIT_THRESHOLD says how many of the pairs get hot.
TEST(Programs, Plain) { expectSame(World(), Level::kAll); }

struct Nothing : shunt::DispatchMode {
  explicit Nothing(shunt::DispatchMode::Level level) : level_(level) {}
  shunt::DispatchMode::Level level() const override { return level_; }
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  int64_t calls = 0;

 private:
  shunt::DispatchMode::Level level_;
};

/// Two of them, one inside the other.
void expectSameUnderModes(shunt::DispatchMode::Level level) {
  Nothing outer(level), inner(level);
  struct Both {
    Both(shunt::DispatchMode& outer, shunt::DispatchMode& inner) : first(outer), second(inner) {}
    shunt::DispatchModeGuard first, second;
  };
  World world;
  world.guards = [&] { return std::make_shared<Both>(outer, inner); };
  expectSame(world, Level::kAll);
  EXPECT_GT(inner.calls, 0);
  EXPECT_EQ(inner.calls, outer.calls);
}

TEST(Programs, UnderAModeThatDoesNothing) { expectSameUnderModes(shunt::DispatchMode::Level::kCall); }
TEST(Programs, UnderAModeAtKernelThatDoesNothing) { expectSameUnderModes(shunt::DispatchMode::Level::kKernel); }

struct Wrapper : shunt::TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    ++calls;
    shunt::call_unwrapped<Wrapper>(op, stack);
  }
  static inline size_t calls = 0;
};

TEST(Programs, InsideASubclassThatDoesNothing) {
  World world;
  world.enter = [](const Tensor& t) { return shunt::wrap<Wrapper>(t); };
  world.leave = [](const Tensor& t) { return shunt::unwrap<Wrapper>(t); };
  world.is_mine = [](const Tensor& t) { return shunt::wrapper_cast<Wrapper>(t) != nullptr; };
  Wrapper::calls = 0;
  expectSame(world, Level::kAll);
  size_t steps = 0;
  for (const Drawn& d : programs()) steps += d.program.steps.size();
  EXPECT_GT(Wrapper::calls, steps / 2) << "most steps meet a wrapper";
}

TEST(Programs, Functionalized) {
  World world;
  world.enter = [](const Tensor& t) { return shunt::to_functional(t); };
  world.leave = [](const Tensor& t) { return shunt::is_functional(t) ? shunt::from_functional(t) : t; };
  world.is_mine = [](const Tensor& t) { return shunt::is_functional(t); };
  world.guards = [] { return std::make_shared<shunt::FunctionalizeGuard>(); };
  expectSame(world, Level::kValues);
}

TEST(Programs, FunctionalizedOverASubclass) {
  World world;
  world.enter = [](const Tensor& t) { return shunt::to_functional(shunt::wrap<Wrapper>(t)); };
  world.leave = [](const Tensor& t) {
    return shunt::unwrap<Wrapper>(shunt::is_functional(t) ? shunt::from_functional(t) : t);
  };
  world.is_mine = [](const Tensor& t) { return shunt::is_functional(t); };
  world.guards = [] { return std::make_shared<shunt::FunctionalizeGuard>(); };
  expectSame(world, Level::kValues);
}

TEST(Programs, OfFakeTensors) {
  World world;
  world.values = false;
  world.enter = [](const Tensor& t) { return shunt::to_fake(t); };
  world.leave = [](const Tensor& t) {
    EXPECT_TRUE(shunt::is_fake(t)) << "a real tensor has come out, of shape " << t.sizes();
    return t;
  };
  world.guards = [] { return std::make_shared<shunt::FakeTensorMode>(); };
  expectSame(world, Level::kGeometry);
}

}  // namespace
}  // namespace programs
