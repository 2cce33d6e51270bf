// Random programs, compiled: called again and again they leave what the program leaves when it runs plainly: bits,
// geometry, versions, aliases, grads, random numbers.
#include "tests/programs/each_program.h"
#include "tests/programs/execution.h"
#include "tests/programs/traced.h"

#include <shunt/core/log.h>
#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace programs {
namespace {

constexpr int kCalls = 3;

/// The program as a function: returns all slots but the inputs, with their graphs or without. Errors of steps are
/// swallowed: what fails once fails always, and the first graph runs a call later.
std::vector<Tensor> call(const Program& program, const std::vector<Tensor>& inputs, bool with_graphs) {
  const World world;
  Execution execution(inputs, world);
  std::optional<shunt::AutocastGuard> autocast;
  if (program.autocast) autocast.emplace(shunt::kCPU);
  for (const Step& step : program.steps) std::ignore = execution.take(step);
  autocast.reset();
  if (program.root >= 0) std::ignore = execution.differentiate(program.root);
  std::vector<Tensor> out;
  for (size_t i = inputs.size(); i < execution.slots().size(); ++i) {
    const Tensor& t = execution.slots()[i];
    out.push_back(!with_graphs && t.defined() && t.requires_grad() ? t.detach() : t);
  }
  return out;
}

Outcome outcomeOf(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
  std::vector<Tensor> slots = inputs;
  slots.insert(slots.end(), results.begin(), results.end());
  Outcome out;
  readSlots(slots, inputs.size(), World(), out);
  releaseGraphs(slots);
  return out;
}

struct CompiledPrograms : EachProgram {
  CompiledPrograms() : EachProgram(5511) {}
};

class InBothForms : public CompiledPrograms, public testing::WithParamInterface<bool> {};

TEST_P(InBothForms, LeaveWhatThePlainOnesLeave) {
  uint64_t hits = 0, eager = 0;
  const shunt::LogSink before = shunt::set_log_sink([](shunt::LogLevel, const char*) {});
  forEach([&](const Program& program, const Outcome& plainly) -> std::string {
    const auto f = [&](const std::vector<Tensor>& inputs) { return call(program, inputs, GetParam()); };
    auto fast = shunt::compile(f);
    const std::vector<Tensor> plain = inputsOf(program);
    const Outcome expected = outcomeOf(plain, f(plain));
    const auto threw = [](const std::string& error) { return !error.empty(); };
    const int calls = std::ranges::any_of(plainly.errors, threw) ? kCalls + 1 : kCalls;
    for (int i = 0; i < calls; ++i) {
      const std::vector<Tensor> inputs = inputsOf(program);
      Outcome got = outcomeOf(inputs, fast(inputs));
      for (size_t k = 0; k < got.slots.size(); ++k)
        if (got.slots[k].grad_fn == "CompiledFunctionBackward") got.slots[k].grad_fn = expected.slots[k].grad_fn;
      const std::string d = firstDifference(expected, got, Level::kAll);
      if (!d.empty()) return shunt::detail::str("call ", i, ": ", d, '\n', fast.explain(), fast.plan());
    }
    if (fast.explain().find("was checked") != std::string::npos) return fast.explain() + fast.plan();
    hits += fast.counts().hits;
    eager += fast.counts().eager;
    return "";
  });
  shunt::set_log_sink(before);
  std::cout << hits << " calls ran a graph, " << eager << " the function" << std::endl;
  if (!isOne())
    EXPECT_GT(2 * hits, eager);  // a result whose graph was freed, beside one whose graph wasn't, runs the function
}

INSTANTIATE_TEST_SUITE_P(Compiled, InBothForms, testing::Bool(),
                         [](const auto& p) { return p.param ? "WithGraphs" : "WithoutGraphs"; });

}  // namespace
}  // namespace programs
