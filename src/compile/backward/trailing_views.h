// TrailingViews: views that a graph makes last, of a tensor with a history: what x.flatten(1) or x.squeeze(-1) at the
// end of a model gives. They are made when the graph has run, by their operators, which record their own history: so
// the graph's result is a tensor that is no view, and what is seen of the view, and of writes into it, is eager code's.
// Constant once made; any thread.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/trace/graph.h>

#include <string>
#include <vector>

namespace shunt::compiled {

/// Whether a node that gives views can be called when the graph has run: for its first argument, with numbers beside
/// it.
bool mayBeCalledLater(const Graph::Node& node);
/// These numbers.
Stack numbersOf(const Graph::Node& node);

class TrailingViews {
 public:
  /// Takes them out of the graph, whose output `output` is what they are views of then. `unread_only`: only
  /// views that the graph doesn't read, as gradients may come to what it reads.
  static TrailingViews takenFrom(Graph& graph, size_t output, bool unread_only);

  bool empty() const { return calls_.empty(); }
  /// The last of them, of a tensor like that output.
  Tensor of(Tensor base) const;
  /// The operators that make them, in order.
  std::vector<std::string> names() const;

 private:
  struct Call {
    OperatorHandle op;
    Stack others;  // the arguments behind the first one
  };
  std::vector<Call> calls_;  // in the order in which they are made
};

}  // namespace shunt::compiled
