// What a plan's nodes have to give, where an operator's kernel is the program's: Note [Recorded results]
// (src/trace/recorded_results.h). Made once with a plan, constant then; any thread.
//
// Besides dtypes, sizes and strides, a plan relies on which results are arguments or share their memory: the order of
// its nodes, and the history of views, follow from that. A call on fake tensors shows what was recorded.
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/trace/recorded_results.h"

#include <shunt/core/inline_vector.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shunt::compiled {

class ExpectedResults {
 public:
  /// A result and an argument of a node, each by its number among the defined tensors of the call's values, which are
  /// one tensor or share memory.
  struct Alias {
    size_t result, argument;
    bool is_same;
  };
  /// An argument that the node writes and leaves with its sizes and strides.
  struct Written {
    size_t argument;
    const Graph::Value* value;
  };
  /// Of a node.
  struct OfNode {
    trace_detail::Compared compared;
    std::vector<Alias> aliases;
    std::vector<Written> written;
    bool are_new = false;  // no other result than those of `aliases` shares memory with an argument
    bool needsArguments() const { return are_new || !aliases.empty() || !written.empty(); }
  };

  struct Options {
    bool strides;  // compared
    bool aliases;  // results share memory as recorded, also where nobody writes it or sees a history
  };
  /// `called`: the operators that recording the graph has called. The graph outlives this.
  ExpectedResults(const Graph& graph, const Aliases& aliases, const std::vector<const Operator*>& called,
                  const Options& options);
  /// Null where only the library's kernels run.
  const OfNode* of(const Graph::Node& node) const;

 private:
  std::unordered_map<const Graph::Node*, std::unique_ptr<const OfNode>> of_;
};

/// One call of a node's operator.
class ComparedCall {
 public:
  /// `expected`: null for a node whose operator has got other kernels since the run began. `arguments`: of the call.
  ComparedCall(const Graph::Node& node, const ExpectedResults::OfNode* expected, const Stack& arguments);
  /// Throws OtherResults.
  void compare(const Stack& returns, bool may_run_again) const;

 private:
  std::string otherAlias(const Stack& returns) const;
  std::string otherArgument() const;

  const Graph::Node& node_;
  const ExpectedResults::OfNode* const expected_;
  InlineVector<Tensor, 4> arguments_;  // held: a result may be one, or get the memory of one that is freed
};

}  // namespace shunt::compiled
