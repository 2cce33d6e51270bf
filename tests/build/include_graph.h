// The include graph of the sources as data, and the rules it must obey (docs: Layers).
//
// Pure functions on text, so that the test can feed them made-up violations. Any thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shunt::include_graph {

struct Include {
  std::string target;  // what stands between the quotes or angle brackets
  bool angled;
};

/// The include directives of a source text, comments ignored.
std::vector<Include> parseIncludes(const std::string& text);

/// Path below the source folder (generated headers: below their include folder, under "include/") -> include
/// directives.
using Graph = std::map<std::string, std::vector<Include>>;

/// Reads every .h and .cpp below `root`, with `prefix` before its relative path.
void readTree(const std::filesystem::path& root, const std::string& prefix, Graph& graph);

/// One line for each edge that the layers forbid.
std::vector<std::string> findLayerViolations(const Graph& graph);

/// Files that include themselves by way of others, as "a -> b -> a"; one line for each cycle found.
std::vector<std::string> findCycles(const Graph& graph);

/// Folders that include each other, by way of others too; one line for each cycle found, as for files.
std::vector<std::string> findFolderCircles(const Graph& graph);

/// Edges from a public core header to a public tensor header: allowed (an IValue holds tensors), but worth knowing.
std::vector<std::string> findCoreToTensor(const Graph& graph);

}  // namespace shunt::include_graph
