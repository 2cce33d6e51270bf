// Random programs, traced: graphs print, verify, are saved, loaded and run again with the program's bits.
#include <shunt/trace/trace.h>

#include "tests/programs/execution.h"
#include "tests/support/seed.h"

#include <shunt/jit/jit.h>
#include <shunt/transforms/fake_tensor.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace programs {
namespace {

using shunt::Graph;

constexpr uint64_t kPrograms = 1000, kLongPrograms = 10000, kSeed = 4411;

/// SHUNT_TEST_PROGRAM=seed draws that one alone.
uint64_t onlyProgram() {
  const char* text = std::getenv("SHUNT_TEST_PROGRAM");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

std::vector<Tensor> inputsOf(const Program& program) {
  std::vector<Tensor> inputs;
  for (const Input& input : program.inputs) inputs.push_back(makeInput(input));
  return inputs;
}

struct Traced {
  Graph graph;
  std::vector<std::string> errors;
  std::vector<bool> defined;  // which slots hold tensors: the graph's outputs
};

Traced traceProgram(const Program& program, const shunt::TraceOptions& options) {
  Traced out;
  const auto f = [&](const std::vector<Tensor>& inputs) {
    const World world;
    Execution execution(inputs, world);
    std::optional<shunt::AutocastGuard> autocast;
    if (program.autocast) autocast.emplace(shunt::kCPU);
    for (const Step& step : program.steps) out.errors.push_back(execution.take(step));
    autocast.reset();
    if (program.root >= 0) out.errors.push_back(execution.differentiate(program.root));
    for (const Tensor& t : execution.slots()) out.defined.push_back(t.defined());
    return execution.slots();
  };
  out.graph = trace(f, inputsOf(program), options);
  return out;
}

Outcome runGraph(const Program& program, const Traced& traced, const Graph& graph) {
  const std::vector<Tensor> results = graph.run(inputsOf(program));
  std::vector<Tensor> slots;
  size_t next = 0;
  for (const bool defined : traced.defined) slots.push_back(defined ? results.at(next++) : Tensor());
  Outcome out;
  out.errors = traced.errors;
  readSlots(slots, program.inputs.size(), World(), out);
  return out;
}

class TracedPrograms : public testing::Test {
 protected:
  /// `check(program, expected)` gives the first difference, for each program.
  template <class F>
  void forEach(F&& check) {
    const uint64_t one = onlyProgram();
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
        difference = check(program, expected);
      } catch (const std::exception& e) {
        difference = e.what();
      }
      if (difference.empty()) continue;
      ADD_FAILURE() << difference << "\n" << program.code();
      if (++shown == 5) FAIL() << "and perhaps more";
    }
  }
};

TEST_F(TracedPrograms, RunAgainFromTheGraphAndFromAFile) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("shunt_traced_" + std::to_string(getpid()))).string();
  size_t nodes = 0;
  const uint64_t in_thunks = shunt::jit::calls_in_thunks();
  forEach([&](const Program& program, const Outcome& expected) -> std::string {
    const Traced traced = traceProgram(program, {});
    nodes += traced.graph.nodes().size();
    traced.graph.verify();
    const auto differs = [&](const char* what, const Graph& graph) {
      const std::string d = firstDifference(expected, runGraph(program, traced, graph), Level::kAll);
      return d.empty() ? "" : what + (": " + d) + "\n" + graph.print();
    };
    if (std::string d = differs("the graph", traced.graph); !d.empty()) return d;
    traced.graph.save(path);
    const Graph back = Graph::load(path);
    if (back.print() != traced.graph.print()) return "loaded: " + back.print() + traced.graph.print();
    const bool jit = shunt::jit::enabled();
    shunt::jit::set_enabled(false);
    std::string d = differs("loaded, without the compiler", back);
    shunt::jit::set_enabled(jit);
    return d;
  });
  std::filesystem::remove(path);
  std::cout << nodes << " nodes, " << shunt::jit::calls_in_thunks() - in_thunks << " calls in thunks" << std::endl;
}

TEST_F(TracedPrograms, OnFakeTensorsGiveTheSameGraph) {
  forEach([](const Program& program, const Outcome& expected) -> std::string {
    const Traced traced = traceProgram(program, {.fake = true});
    for (size_t i = 0; i < traced.errors.size(); ++i)
      if (traced.errors[i].empty() != expected.errors[i].empty()) return "";  // elements decide
    return firstDifference(expected, runGraph(program, traced, traced.graph), Level::kAll);
  });
}

TEST_F(TracedPrograms, PassesKeepTheBits) {
  forEach([](const Program& program, const Outcome& expected) -> std::string {
    Traced traced = traceProgram(program, {});
    traced.graph.eliminate_dead_code();
    traced.graph.common_subexpressions();
    traced.graph.verify();
    return firstDifference(expected, runGraph(program, traced, traced.graph), Level::kAll);
  });
}

}  // namespace
}  // namespace programs
