// Random programs, traced and planned: a plan's first run, which records, and the later ones leave what the graph does.
#include "src/compile/plan.h"
#include "tests/programs/traced.h"
#include "tests/support/seed.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace programs {
namespace {

using shunt::compiled::Plan;
using shunt::compiled::PlanOptions;

constexpr uint64_t kPrograms = 1000, kLongPrograms = 10000, kSeed = 7103;

class PlannedPrograms : public testing::Test {
 protected:
  /// `check(program)` gives the first difference, for each program.
  template <class F>
  void forEach(F&& check) {
    const char* text = std::getenv("SHUNT_TEST_PROGRAM");  // draws that one alone
    const uint64_t one = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
    const uint64_t seed = shunt::test::seedOfComparison(kSeed);
    const uint64_t many = one != 0 ? 1 : shunt::test::longRun() ? kLongPrograms : kPrograms;
    const uint64_t first = one != 0 ? one : seed * kLongPrograms + 1;
    std::cout << "SHUNT_TEST_SEED=" << seed << ": programs " << first << " to " << first + many - 1 << std::endl;
    int shown = 0;
    for (uint64_t i = 0; i < many; ++i) {
      Outcome expected;
      const Program program = draw(first + i, &expected);
      std::string difference;
      try {
        difference = check(program);
      } catch (const std::exception& e) {
        difference = e.what();
      }
      if (difference.empty()) continue;
      ADD_FAILURE() << difference << "\n" << program.code();
      if (++shown == 5) FAIL() << "and perhaps more";
    }
    if (one == 0) EXPECT_GT(in_regions_, many);
  }

  /// Three runs of a plan against the graph's. Without history, who requires grad isn't compared.
  std::string compare(const Program& program, const Traced& traced, const PlanOptions& options) {
    const auto seeded = [&] { shunt::manual_seed(program.seed); };
    seeded();
    const Outcome expected = runGraph(program, traced, traced.graph);
    const Plan plan(traced.graph, options);
    for (int run = 0; run < 3; ++run) {
      seeded();
      Outcome got = outcomeOf(program, traced, [&](const std::vector<Tensor>& inputs) { return plan.run(inputs); });
      for (size_t i = 0; !options.history_of_outputs && i < got.slots.size(); ++i) {
        got.slots[i].requires_grad = expected.slots[i].requires_grad;
        got.slots[i].grad_fn = expected.slots[i].grad_fn;
      }
      const std::string d = firstDifference(expected, got, Level::kAll);
      if (!d.empty()) return "run " + std::to_string(run) + ": " + d + "\n" + traced.graph.print() + plan.describe();
    }
    in_regions_ += plan.counts().nodes_in_regions;
    return "";
  }

  size_t in_regions_ = 0;
};

TEST_F(PlannedPrograms, LeaveWhatTheGraphLeaves) {
  forEach([&](const Program& program) { return compare(program, traceProgram(program, {}), {}); });
  std::cout << in_regions_ << " nodes in regions" << std::endl;
}

TEST_F(PlannedPrograms, WithoutHistoryLeaveTheSameValues) {
  forEach([&](const Program& program) {
    return compare(program, traceProgram(program, {}), {.history_of_outputs = false});
  });
  std::cout << in_regions_ << " nodes in regions" << std::endl;
}

TEST_F(PlannedPrograms, DrawTheSameRandomNumbers) {
  forEach([&](const Program& plain) {
    const Program program = withDrawing(plain);
    return compare(program, traceProgram(program, {}), {});
  });
}

TEST_F(PlannedPrograms, FunctionalizedLeaveTheSame) {
  forEach([&](const Program& program) -> std::string {
    const Traced traced = traceProgram(program, {});
    Traced functional{{}, traced.errors, traced.defined};
    try {
      functional.graph = traced.graph.functionalized();
    } catch (const shunt::Error&) {
      return "";  // what can't be functionalized: see docs/functionalize.md
    }
    return compare(program, functional, {.history_of_outputs = false});
  });
}

}  // namespace
}  // namespace programs
