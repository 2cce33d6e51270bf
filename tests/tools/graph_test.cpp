// shunt graph: prints, checks and draws a graph that a program saved.
#include <shunt/shunt.h>
#include <shunt/trace/dot.h>
#include <shunt/trace/trace.h>

#include "tests/support/temporary_folder.h"
#include "tests/tools/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace shunt {
namespace {

using test::bad;
using test::good;
using testing::HasSubstr;

Graph sumOfTwo() {
  return trace([](const Tensor& x, const Tensor& y) { return (x + y).relu(); }, std::tuple(ones({2, 3}), ones({2, 3})));
}

constexpr const char* kDrawn = R"(digraph {
  node [shape=box];
  v0 [shape=ellipse, label="input %0\nfloat32 [2, 3]"];
  v1 [shape=ellipse, label="input %1\nfloat32 [2, 3]"];
  n0 [label="aten::add.Tensor\n%2 float32 [2, 3]"];
  v0 -> n0 [label="self %0"];
  v1 -> n0 [label="other %1"];
  n1 [label="aten::relu\n%3 float32 [2, 3]"];
  n0 -> n1 [label="self %2"];
  out0 [shape=ellipse, label="output 0"];
  n1 -> out0 [label="%3"];
}
)";

TEST(GraphCommand, PrintsChecksAndDraws) {
  const test::TemporaryFolder folder("graph_command");
  const std::string file = folder.path() / "step.graph";
  const Graph graph = sumOfTwo();
  graph.save(file);
  EXPECT_EQ(good("graph " + file), graph.print());
  EXPECT_EQ(nlohmann::json::parse(good("graph --json " + file)), nlohmann::json::parse(graph.toJson()));
  EXPECT_EQ(good("graph --verify " + file), file + ": 2 nodes, 2 inputs, 0 constants, 1 outputs: no fault found\n");
  EXPECT_EQ(good("graph --dot " + file), kDrawn);
}

TEST(GraphCommand, WhatIsWrongIsSaid) {
  const test::TemporaryFolder folder("graph_command");
  const std::string file = folder.path() / "step.graph";
  sumOfTwo().save(file);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(bad("graph --verify " + file),
              HasSubstr("shunt: Graph::load: '" + file + "': is cut off or has grown: "));
  std::ofstream(file) << "somebody else's";
  EXPECT_EQ(bad("graph " + file), "shunt: Graph::load: '" + file + "': is not a graph that Graph::save() wrote\n");
  EXPECT_EQ(bad("graph /nowhere.graph"),
            "shunt: Graph::load: '/nowhere.graph': can't be read: No such file or directory\n");
}

TEST(GraphCommand, NamesTheOptionForAUsersLibrary) {
  const test::TemporaryFolder folder("graph_command");
  const std::string file = folder.path() / "custom.graph";
  {
    Library m(Library::Kind::kDef, "mine");
    m.def("twice(Tensor self) -> Tensor");
    m.impl("twice", DispatchKey::CPU, [](const Tensor& self) { return self.mul(2); });
    const auto twice = Dispatcher::singleton().findSchemaOrThrow("mine::twice").typed<Tensor(const Tensor&)>();
    trace([&](const Tensor& x) { return twice.call(x); }, ones({2})).save(file);
  }
  EXPECT_EQ(bad("graph " + file),
            "shunt: Graph::load: '" + file +
                "': Could not find schema for mine::twice: there is no such operator, nor any other in the namespace "
                "'mine'\nIf a library of yours defines it, name its shared object: --library FILE\n");
  EXPECT_THAT(good("graph --library " SHUNT_OWN_OPS " " + file), HasSubstr("mine::twice"));
}

TEST(GraphCommand, DrawsConstantsListsAndSeveralResults) {
  const Tensor w = ones({4}, kDouble);
  const Graph graph = trace(
      [&](const Tensor& x) {
        const std::vector<Tensor> parts = x.split(2);
        return cat({parts[0], parts[1], w});
      },
      ones({4}, kDouble));
  const std::string text = toDot(graph);
  EXPECT_THAT(text, HasSubstr("[shape=ellipse, label=\"constant %"));
  EXPECT_THAT(text, HasSubstr(" [label=\"tensors %"));
  for (const Graph::Node* node : graph.nodes())
    for (const Graph::Output& output : node->outputs)
      for (const Graph::Value* v : output.values)
        EXPECT_THAT(text, HasSubstr("\\n%" + std::to_string(v->id) + " float64 ["));
}

}  // namespace
}  // namespace shunt
