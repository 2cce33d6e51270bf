// A graph and the backward pass from one of its results, as one graph. For the thread that records.
#pragma once

#include <shunt/trace/graph.h>

#include <utility>
#include <vector>

namespace shunt::compiled {

/// What the backward pass gives one of the graph's inputs or constants, or another result, by one edge of the history.
struct JointContribution {
  size_t given = 0;      // among inputs, then constants, then `others`
  bool arrives = false;  // else none comes this way
  // Of one that isn't the caller's gradient: whether it is a view in eager code, and whether others hold it, so that a
  // leaf copies it.
  bool is_view = false, is_held = false;
  std::vector<int64_t> strides = {};  // where it arrives
};

/// The version of a sum that the engine makes of several contributions: where somebody else holds the gradient that
/// they are made of, where nobody does, and whether that one counts on from the gradient's own, to which the others
/// were added.
struct SumVersion {
  uint32_t of_held = 0, of_free = 0;
  bool counts_on = false;
};

struct Joint {
  /// The given graph's nodes, then those of the backward pass; its inputs, then the gradient; its outputs.
  Graph graph;
  Graph::Value* gradient = nullptr;
  size_t forward_nodes = 0;
  std::vector<JointContribution> contributions;            // in the order in which a backward pass adds them
  bool adds = false;                                       // several of them, for one of the given tensors
  std::vector<SumVersion> versions;                        // by `given`, empty where the engine adds nothing
  std::vector<Graph::Value*> contributed;                  // their values; null where none arrives
  std::vector<std::pair<const Operator*, uint64_t>> seen;  // operators that were called, and their tables' fingerprints
};

/// The gradient of output `output` has these strides; it goes as far as the outputs `others` and what was given. Throws
/// Error, saying why, where there is no such graph: where the backward pass writes into what the graph has made, or
/// throws.
Joint jointOf(const Graph& graph, size_t output, const std::vector<size_t>& others, IntArrayRef strides);

/// Whether the sum of such gradients, and of more that lie as one of them, lies in one way, whichever is added to the
/// other: as they do, or in row-major order.
bool addAlike(const Graph::Spec& a, const Graph::Spec& b);

/// Throws Error: the operators keep their history, and why.
[[noreturn]] void refuse(const char* why);

/// Inputs, then constants.
std::vector<Graph::Value*> givenOf(const Graph& graph);

/// Of each of these the number of the first one that shares its memory: the two may be one tensor.
std::vector<size_t> homesOf(const std::vector<Graph::Value*>& given);

}  // namespace shunt::compiled
