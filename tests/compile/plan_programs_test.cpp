// Random programs, traced and planned: a plan's first run, which records, and the later ones leave what the graph does.
#include "src/compile/program/plan.h"
#include "tests/programs/each_program.h"
#include "tests/programs/traced.h"

#include <gtest/gtest.h>

#include <iostream>

namespace programs {
namespace {

using shunt::compiled::Plan;
using shunt::compiled::PlanOptions;

class PlannedPrograms : public EachProgram {
 protected:
  PlannedPrograms() : EachProgram(7103) {}

  template <class F>
  void forEachPlanned(F&& check) {
    forEach([&](const Program& program, const Outcome&) { return check(program); });
    if (!isOne()) EXPECT_GT(in_regions_, kPrograms);
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
  forEachPlanned([&](const Program& program) { return compare(program, traceProgram(program, {}), {}); });
  std::cout << in_regions_ << " nodes in regions" << std::endl;
}

TEST_F(PlannedPrograms, WithoutHistoryLeaveTheSameValues) {
  forEachPlanned([&](const Program& program) {
    return compare(program, traceProgram(program, {}), {.history_of_outputs = false});
  });
  std::cout << in_regions_ << " nodes in regions" << std::endl;
}

TEST_F(PlannedPrograms, DrawTheSameRandomNumbers) {
  forEachPlanned([&](const Program& plain) {
    const Program program = withDrawing(plain);
    return compare(program, traceProgram(program, {}), {});
  });
}

TEST_F(PlannedPrograms, FunctionalizedLeaveTheSame) {
  forEachPlanned([&](const Program& program) -> std::string {
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
