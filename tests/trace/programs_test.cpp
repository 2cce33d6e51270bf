// Random programs, traced: graphs print, verify, are saved, loaded and run again with the program's bits.
#include "tests/programs/each_program.h"
#include "tests/programs/traced.h"

#include <shunt/jit/jit.h>
#include <shunt/transforms/fake_tensor.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

namespace programs {
namespace {

using shunt::Graph;

/// Whether the graph writes to a tensor whose elements share memory. Which of several values stays there is then a
/// matter of elements, which functionalized() doesn't see.
bool writesSharedElements(const Graph& graph) {
  for (const Graph::Node* node : graph.nodes()) {
    const auto& wanted = node->op.schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i)
      for (const Graph::Value* v : node->arguments[i].values)
        for (size_t d = 0; wanted[i].is_write() && v != nullptr && d < v->spec.sizes.size(); ++d)
          if (v->spec.strides[d] == 0 && v->spec.sizes[d] > 1) return true;
  }
  return false;
}

struct TracedPrograms : EachProgram {
  TracedPrograms() : EachProgram(4411) {}
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
    std::filesystem::remove(path);  // a file that replaces another one waits for the disk
    if (back.print() != traced.graph.print()) return "loaded: " + back.print() + traced.graph.print();
    const bool jit = shunt::jit::enabled();
    shunt::jit::set_enabled(false);
    std::string d = differs("loaded, without the compiler", back);
    shunt::jit::set_enabled(jit);
    return d;
  });
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

TEST_F(TracedPrograms, ThatDrawRandomNumbersDrawThemAgain) {
  size_t drawn = 0;
  forEach([&](const Program& plain, const Outcome&) -> std::string {
    const Program program = withDrawing(plain);
    const Traced traced = traceProgram(program, {});
    for (const Graph::Node* node : traced.graph.nodes()) drawn += drawsRandomNumbers(node->op);
    shunt::manual_seed(plain.seed);
    const Outcome expected = run(program, World());
    shunt::manual_seed(plain.seed);
    return firstDifference(expected, runGraph(program, traced, traced.graph), Level::kAll);
  });
  if (!isOne()) EXPECT_GT(drawn, kPrograms);
}

TEST_F(TracedPrograms, FunctionalizedGiveTheSameValues) {
  size_t refused = 0;
  forEach([&](const Program& program, const Outcome& expected) -> std::string {
    const Traced traced = traceProgram(program, {});
    Graph graph;
    refused += writesSharedElements(traced.graph);
    if (writesSharedElements(traced.graph)) return "";
    try {
      graph = traced.graph.functionalized();
    } catch (const shunt::Error&) {
      ++refused;  // what can't be functionalized: see docs/functionalize.md
      return "";
    }
    for (const Graph::Node* node : graph.nodes()) {
      const bool writes = node->op.schema().is_mutable() && !node->is("aten::copy_");
      if (writes && !node->name().starts_with("trace::")) return "writes: " + graph.print();
    }
    // A write under no_grad to what requires grad keeps its place in autograd's graph without an operator, so who
    // requires grad isn't in a functionalized graph. The gradients that the program itself computes are.
    Outcome got = runGraph(program, traced, graph);
    for (size_t i = 0; i < got.slots.size(); ++i) got.slots[i].requires_grad = expected.slots[i].requires_grad;
    return firstDifference(expected, got, Level::kValues);
  });
  if (!isOne()) EXPECT_LT(refused, kPrograms / 20);
}

TEST_F(TracedPrograms, DecomposedGiveTheSameValues) {
  forEach([](const Program& program, const Outcome& expected) -> std::string {
    const Traced traced = traceProgram(program, {});
    const Graph parts = traced.graph.decompose();
    parts.verify();
    return firstDifference(expected, runGraph(program, traced, parts), Level::kAll);
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
