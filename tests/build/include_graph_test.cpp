// The sources obey their layers: no forbidden include, no cycle of files, no circle of folders.
#include "tests/build/include_graph.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace shunt::include_graph {
namespace {

std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += "\n  " + text;
  return all;
}

Graph project() {
  const std::filesystem::path root = SHUNT_SOURCE_DIR;
  Graph graph;
  for (const char* folder : {"include", "src", "kernels", "jit", "tools"})
    readTree(root / folder, std::string(folder) + "/", graph);
  readTree(std::filesystem::path(SHUNT_GENERATED_DIR) / "include", "include/", graph);
  return graph;
}

Graph withEdge(const std::string& from, const std::string& directive, const std::string& to = "") {
  Graph graph{{from, parseIncludes(directive)}};
  if (!to.empty()) graph[to];
  return graph;
}

TEST(IncludeGraph, ProjectObeysItsLayers) {
  const Graph graph = project();
  ASSERT_TRUE(graph.contains("include/shunt/core/error.h"));
  ASSERT_TRUE(graph.contains("src/base/error.cpp"));
  const auto violations = findLayerViolations(graph);
  EXPECT_TRUE(violations.empty()) << lines(violations);
}

TEST(IncludeGraph, ProjectHasNoCycle) {
  const auto cycles = findCycles(project());
  EXPECT_TRUE(cycles.empty()) << lines(cycles);
}

TEST(IncludeGraph, ProjectHasNoCircleOfFolders) {
  const auto circles = findFolderCircles(project());
  EXPECT_TRUE(circles.empty()) << lines(circles);
}

/// Public headers that don't include, by way of others, the one that says that C++20 is needed.
std::vector<std::string> withoutSentence(const Graph& graph) {
  std::set<std::string> have{"include/shunt/core/macros.h"};
  for (size_t before = 0; before != have.size();) {
    before = have.size();
    for (const auto& [file, includes] : graph)
      for (const Include& i : includes)
        if (have.contains("include/" + i.target)) have.insert(file);
  }
  std::vector<std::string> out;
  for (const auto& [file, includes] : graph)
    if (file.starts_with("include/shunt/") && file.ends_with(".h") && !have.contains(file)) out.push_back(file);
  return out;
}

// But of the header that a program asks for the version before it includes anything else.
TEST(IncludeGraph, EveryPublicHeaderSaysThatItNeedsCpp20) {
  EXPECT_EQ(withoutSentence(project()),
            (std::vector<std::string>{"include/shunt/core/isa_levels.h", "include/shunt/version.h"}));
  EXPECT_EQ(withoutSentence(withEdge("include/shunt/a.h", "#include <vector>")).size(), 1u);
}

// shunt.h includes what a program needs, and its comment lists the rest by folder: "//   core  annotate, fork".
TEST(IncludeGraph, TheHeaderForProgramsSaysWhatItLeavesOut) {
  const Graph graph = project();
  std::set<std::string> reached{"include/shunt/shunt.h"};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const std::string& file : std::set(reached))
      for (const Include& i : graph.at(file))
        if (graph.contains("include/" + i.target)) reached.insert("include/" + i.target);
  }
  std::set<std::string> left_out, listed;
  for (const auto& [file, includes] : graph)
    if (file.starts_with("include/shunt/") && file.ends_with(".h") && !reached.contains(file)) left_out.insert(file);
  left_out.erase("include/shunt/core/isa_levels.h");  // a part of isa.h, written by CMake
  std::ifstream in(std::filesystem::path(SHUNT_SOURCE_DIR) / "include/shunt/shunt.h");
  for (std::string line, folder, name; std::getline(in, line);) {
    if (!line.starts_with("//   ")) continue;
    std::istringstream words(line.substr(2));
    for (words >> folder; words >> name;)
      listed.insert("include/shunt/" + folder + "/" + name.substr(0, name.find(',')) + ".h");
  }
  EXPECT_EQ(listed, left_out);
}

TEST(IncludeGraph, SeededCircleOfFoldersIsFound) {
  Graph graph{{"kernels/a/x.cpp", parseIncludes("#include \"kernels/b/x.h\"")},
              {"kernels/b/x.h", {}},
              {"kernels/b/y.cpp", parseIncludes("#include \"kernels/a/y.h\"")},
              {"kernels/a/y.h", {}}};
  EXPECT_TRUE(findCycles(graph).empty());
  const auto circles = findFolderCircles(graph);
  ASSERT_EQ(circles.size(), 1u);
  EXPECT_EQ(circles[0], "kernels/a -> kernels/b -> kernels/a");
}

TEST(IncludeGraph, CoreHeadersThatNeedTensorHeadersArePrinted) {
  const auto edges = findCoreToTensor(project());
  printf("public core headers that include public tensor headers: %zu%s\n", edges.size(), lines(edges).c_str());
  EXPECT_EQ(
      findCoreToTensor(withEdge("include/shunt/core/a.h", "#include <shunt/tensor/b.h>", "include/shunt/tensor/b.h"))
          .size(),
      1u);
}

TEST(IncludeGraph, ParserSeesDirectivesOnly) {
  const auto includes =
      parseIncludes("#include <a/b.h>\n  # include \"c.h\"\n// #include <d.h>\n/*\n#include <e.h>\n*/\n#include <f>");
  ASSERT_EQ(includes.size(), 3u);
  EXPECT_EQ(includes[0].target, "a/b.h");
  EXPECT_TRUE(includes[0].angled);
  EXPECT_EQ(includes[1].target, "c.h");
  EXPECT_FALSE(includes[1].angled);
  EXPECT_EQ(includes[2].target, "f");
  EXPECT_EQ(parseIncludes("// from folder/*.yaml\n#include <a>\n").size(), 1u);
  // What an emitter writes is no directive of its own.
  const auto emitter = parseIncludes("const char* kHead = R\"(#include <a>\n#include <b>\n)\";\n#include <c>\n");
  ASSERT_EQ(emitter.size(), 1u);
  EXPECT_EQ(emitter[0].target, "c");
}

struct Case {
  const char* from;
  const char* directive;
  const char* to;  // empty: a header from outside
};

TEST(IncludeGraph, SeededViolationsAreFound) {
  const Case cases[] = {
      {"include/shunt/core/a.h", "#include \"src/core/b.h\"", "src/core/b.h"},
      {"include/shunt/core/a.h", "#include <shunt/autograd/b.h>", "include/shunt/autograd/b.h"},
      {"include/shunt/autograd/a.h", "#include <shunt/transforms/b.h>", "include/shunt/transforms/b.h"},
      {"include/shunt/tensor/a.h", "#include <fmt/format.h>", ""},
      {"include/shunt/tensor/a.h", "#include <cblas.h>", ""},
      {"src/core/a.cpp", "#include \"src/dispatch/b.h\"", "src/dispatch/b.h"},
      {"src/core/a.cpp", "#include <shunt/autograd/b.h>", "include/shunt/autograd/b.h"},
      {"src/dispatch/a.cpp", "#include \"../tensor/b.h\"", "src/tensor/b.h"},
      {"src/base/a.cpp", "#include \"src/core/b.h\"", "src/core/b.h"},
      {"src/autograd/a.cpp", "#include \"src/transforms/fake/b.h\"", "src/transforms/fake/b.h"},
      {"src/transforms/fake/a.cpp", "#include \"src/interpose/b.h\"", "src/interpose/b.h"},
      {"src/interpose/a.cpp", "#include \"src/tiering/b.h\"", "src/tiering/b.h"},
      {"jit/bitcode/a.cpp", "#include \"jit/emit/b.h\"", "jit/emit/b.h"},
      {"jit/link/a.cpp", "#include \"jit/cache/b.h\"", "jit/cache/b.h"},
      {"tools/opgen/model/a.cpp", "#include \"tools/opgen/emitters/b.h\"", "tools/opgen/emitters/b.h"},
      {"src/interpose/a.cpp", "#include \"kernels/pointwise/b.h\"", "kernels/pointwise/b.h"},
      {"src/interpose/a.cpp", "#include \"jit/plan/b.h\"", "jit/plan/b.h"},
      {"src/core/a.cpp", "#include <llvm/IR/Module.h>", ""},
      {"kernels/rows/a.cpp", "#include \"src/dispatch/b.h\"", "src/dispatch/b.h"},
      {"kernels/rows/a.cpp", "#include <llvm/IR/Module.h>", ""},
      {"jit/plan/a.cpp", "#include \"kernels/rows/b.h\"", "kernels/rows/b.h"},
      {"jit/plan/a.cpp", "#include \"src/tensor/b.h\"", "src/tensor/b.h"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(findLayerViolations(withEdge(c.from, c.directive, c.to)).size(), 1u) << c.from << ": " << c.directive;
  }
}

TEST(IncludeGraph, AllowedEdgesAreNotViolations) {
  const Case cases[] = {
      {"include/shunt/core/a.h", "#include <shunt/tensor/b.h>", "include/shunt/tensor/b.h"},
      {"src/autograd/a.cpp", "#include \"src/dispatch/b.h\"", "src/dispatch/b.h"},
      {"src/core/a.cpp", "#include <fmt/format.h>", ""},
      {"src/core/a.cpp", "#include \"b.h\"", "src/core/b.h"},
      {"kernels/rows/a.cpp", "#include \"kernels/pointwise/b.h\"", "kernels/pointwise/b.h"},
      {"tools/opgen/a.cpp", "#include <yaml-cpp/yaml.h>", ""},
      {"jit/plan/a.cpp", "#include \"src/dispatch/b.h\"", "src/dispatch/b.h"},
  };
  for (const Case& c : cases) {
    const auto violations = findLayerViolations(withEdge(c.from, c.directive, c.to));
    EXPECT_TRUE(violations.empty()) << lines(violations);
  }
}

TEST(IncludeGraph, SeededCycleIsFound) {
  Graph graph{{"include/shunt/core/a.h", parseIncludes("#include <shunt/core/b.h>")},
              {"include/shunt/core/b.h", parseIncludes("#include \"c.h\"")},
              {"include/shunt/core/c.h", parseIncludes("#include <shunt/core/a.h>")}};
  const auto cycles = findCycles(graph);
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0],
            "include/shunt/core/a.h -> include/shunt/core/b.h -> include/shunt/core/c.h -> include/shunt/core/a.h");
}

}  // namespace
}  // namespace shunt::include_graph
