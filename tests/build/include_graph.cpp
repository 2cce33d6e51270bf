#include "tests/build/include_graph.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>

namespace shunt::include_graph {
namespace {

bool startsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Where an include directive leads: a file of the graph, or nothing for headers from outside.
std::optional<std::string> resolve(const Graph& graph, const std::string& from, const Include& include) {
  std::vector<std::string> candidates;
  if (!include.angled) {
    const std::filesystem::path folder = std::filesystem::path(from).parent_path();
    candidates.push_back((folder / include.target).lexically_normal().generic_string());
  }
  candidates.push_back("include/" + include.target);
  candidates.push_back(include.target);
  for (const std::string& candidate : candidates) {
    if (graph.contains(candidate)) return candidate;
  }
  return std::nullopt;
}

// Lower may not include higher, within one part of the project. The public halves of core and tensor are one layer: an
// IValue holds tensors. Public headers stand with the lowest layer that may need them.
enum class Part { kRuntime, kCompiler, kGenerator };
struct Layer {
  const char* folder;
  Part part;
  int level;
};
constexpr std::array kLayers = {
    Layer{"include/shunt/core/", Part::kRuntime, 0},
    Layer{"include/shunt/tensor/", Part::kRuntime, 0},
    Layer{"src/base/", Part::kRuntime, 1},
    Layer{"src/core/", Part::kRuntime, 2},
    Layer{"src/dispatch/", Part::kRuntime, 3},
    Layer{"src/tensor/", Part::kRuntime, 4},
    Layer{"include/shunt/autograd/", Part::kRuntime, 5},
    Layer{"src/autograd/", Part::kRuntime, 5},
    Layer{"include/shunt/device/", Part::kRuntime, 6},
    Layer{"include/shunt/files/", Part::kRuntime, 5},
    Layer{"include/shunt/interpose/", Part::kRuntime, 6},
    Layer{"include/shunt/transforms/", Part::kRuntime, 6},
    Layer{"src/device/", Part::kRuntime, 6},
    Layer{"src/files/", Part::kRuntime, 6},
    Layer{"src/transforms/", Part::kRuntime, 7},
    Layer{"src/interpose/", Part::kRuntime, 8},
    Layer{"include/shunt/trace/", Part::kRuntime, 7},
    Layer{"src/trace/", Part::kRuntime, 8},
    Layer{"src/tiering/", Part::kRuntime, 9},
    Layer{"include/shunt/compile/", Part::kRuntime, 8},
    Layer{"src/compile/", Part::kRuntime, 10},
    Layer{"jit/host/", Part::kCompiler, 0},
    Layer{"jit/bitcode/", Part::kCompiler, 1},
    Layer{"jit/plan/", Part::kCompiler, 2},
    Layer{"jit/passes/", Part::kCompiler, 3},
    Layer{"jit/emit/", Part::kCompiler, 4},
    Layer{"jit/fuse/", Part::kCompiler, 5},
    Layer{"jit/link/", Part::kCompiler, 5},
    Layer{"jit/cache/", Part::kCompiler, 6},
    Layer{"jit/debug/", Part::kCompiler, 6},
    Layer{"tools/opgen/model/", Part::kGenerator, 0},
    Layer{"tools/opgen/emitters/", Part::kGenerator, 1},
};

const Layer* layerOf(const std::string& path) {
  for (const Layer& layer : kLayers) {
    if (startsWith(path, layer.folder)) return &layer;
  }
  return nullptr;
}

// Who may include whom, by the first folder.
struct Visibility {
  const char* from;
  std::vector<std::string> may_include;
};
const std::vector<Visibility>& visibilities() {
  static const std::vector<Visibility> table = {
      {"include/", {"include/"}},
      {"src/", {"include/", "src/"}},
      {"kernels/", {"include/", "kernels/"}},
      {"jit/", {"include/", "jit/", "src/dispatch/", "tools/bitcode/"}},
      {"tools/", {"include/", "tools/", "jit/host/"}},
  };
  return table;
}

std::optional<std::string> violation(const std::string& from, const std::string& to) {
  for (const Visibility& visibility : visibilities()) {
    if (!startsWith(from, visibility.from)) continue;
    const bool allowed = std::any_of(visibility.may_include.begin(), visibility.may_include.end(),
                                     [&](const std::string& folder) { return startsWith(to, folder); });
    if (!allowed) return std::string(visibility.from) + " may not include it";
  }
  const Layer *lower = layerOf(from), *upper = layerOf(to);
  if (lower && upper && lower->part == upper->part && lower->level < upper->level)
    return "it belongs to a higher layer";
  return std::nullopt;
}

// Headers from outside that a part of the project must not depend on.
std::optional<std::string> foreignViolation(const std::string& from, const std::string& header) {
  // The tools run at build time or beside the library, and are no part of it.
  if (startsWith(from, "tools/")) return std::nullopt;
  const bool is_llvm = startsWith(header, "llvm/") || startsWith(header, "llvm-c/") || startsWith(header, "clang/");
  const bool is_core = startsWith(from, "include/") || startsWith(from, "src/") || startsWith(from, "kernels/");
  if (is_llvm && is_core) return "only jit/ and tools/ may include LLVM";
  static const std::set<std::string> kThirdParty = {"fmt",   "oneapi",  "tbb",   "mkl",      "yaml-cpp", "dnnl",
                                                    "gtest", "libxsmm", "torch", "mimalloc", "nlohmann"};
  const std::string first = header.substr(0, header.find_first_of("/."));
  if (startsWith(from, "include/") && (kThirdParty.contains(first) || startsWith(header, "cblas"))) {
    return "a public header needs nothing but the standard library";
  }
  return std::nullopt;
}

/// The folder of a file. Two folders that are one layer count as one.
std::string roomOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const char* one : {"core", "tensor", "generated"})  // Tensor's methods are generated, of types of the others
    if (folder == std::string("include/shunt/") + one) return "include/shunt/{core,tensor,generated}";
  return folder;
}

class CycleFinder {
 public:
  explicit CycleFinder(const Graph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    for (const auto& [file, includes] : graph_) visit(file);
    return std::move(cycles_);
  }

 private:
  void visit(const std::string& file) {
    if (done_.contains(file)) return;
    const auto open = std::find(path_.begin(), path_.end(), file);
    if (open != path_.end()) {
      std::string text;
      for (auto step = open; step != path_.end(); ++step) text += *step + " -> ";
      cycles_.push_back(text + file);
      return;
    }
    path_.push_back(file);
    for (const Include& include : graph_.at(file)) {
      if (const auto target = resolve(graph_, file, include)) visit(*target);
    }
    path_.pop_back();
    done_.insert(file);
  }

  const Graph& graph_;
  std::vector<std::string> path_, cycles_;
  std::set<std::string> done_;
};

}  // namespace

std::vector<Include> parseIncludes(const std::string& text) {
  static const std::regex kDirective(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  std::string line;
  bool in_comment = false, in_literal = false;  // of an emitter: what it writes
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    line = text.substr(begin, end - begin);
    begin = end + 1;
    std::smatch match;
    if (!in_comment && !in_literal && std::regex_search(line, match, kDirective))
      includes.push_back({match[2], match[1] == "<"});
    const size_t begun = line.rfind("R\"("), ended = line.rfind(")\"");
    if (begun != std::string::npos && (ended == std::string::npos || ended < begun))
      in_literal = true;
    else if (ended != std::string::npos)
      in_literal = false;
    const size_t opened = line.substr(0, line.find("//")).rfind("/*"), closed = line.rfind("*/");
    if (opened != std::string::npos && (closed == std::string::npos || closed < opened))
      in_comment = true;
    else if (closed != std::string::npos)
      in_comment = false;
  }
  return includes;
}

void readTree(const std::filesystem::path& root, const std::string& prefix, Graph& graph) {
  if (!std::filesystem::exists(root)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    graph[prefix + std::filesystem::relative(entry.path(), root).generic_string()] = parseIncludes(text);
  }
}

std::vector<std::string> findLayerViolations(const Graph& graph) {
  std::vector<std::string> violations;
  for (const auto& [file, includes] : graph) {
    for (const Include& include : includes) {
      const std::optional<std::string> target = resolve(graph, file, include);
      const std::optional<std::string> reason =
          target ? violation(file, *target) : foreignViolation(file, include.target);
      if (reason) violations.push_back(file + " includes " + target.value_or(include.target) + ": " + *reason);
    }
  }
  return violations;
}

std::vector<std::string> findCycles(const Graph& graph) { return CycleFinder(graph).run(); }

std::vector<std::string> findFolderCircles(const Graph& graph) {
  // A folder's "file" includes the folders that its files include.
  Graph folders;
  for (const auto& [file, includes] : graph)
    for (const Include& include : includes)
      if (const auto target = resolve(graph, file, include); target && roomOf(*target) != roomOf(file)) {
        folders[roomOf(file)].push_back({roomOf(*target), true});
        folders[roomOf(*target)];
      }
  return CycleFinder(folders).run();
}

std::vector<std::string> findCoreToTensor(const Graph& graph) {
  std::vector<std::string> edges;
  for (const auto& [file, includes] : graph) {
    if (!startsWith(file, "include/shunt/core/")) continue;
    for (const Include& include : includes) {
      const std::optional<std::string> target = resolve(graph, file, include);
      if (target && startsWith(*target, "include/shunt/tensor/")) edges.push_back(file + " includes " + *target);
    }
  }
  return edges;
}

}  // namespace shunt::include_graph
