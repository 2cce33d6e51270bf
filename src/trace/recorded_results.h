// What an operator gives when a graph runs, compared with what the graph was recorded with.
//
// Note [Recorded results]
// A graph holds the dtype, sizes and strides of each result. Later nodes rely on them without a look at the tensor: a
// reshape is recorded as a view with fixed strides, and numbers that the function took from sizes are literals. The
// library's kernels give the same for Meta, which recording on fake tensors asks, and for each device. Kernels of a
// program may differ, and every node behind would compute wrong numbers. So a run compares the results of each operator
// that has such a kernel, and throws OtherResults at the first difference.
//
// Pure functions; any thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/trace/graph.h>

#include <string>

namespace shunt::trace_detail {

/// What is compared besides dtype, device, sizes, and which results are undefined.
struct Compared {
  enum class History : uint8_t {
    kNo,
    kNoneNew,  // what was recorded without gradients has none
    kSame,     // results require grad as they were recorded
  };
  bool strides = true, offset = false;
  History history = History::kNo;
};

/// An operator of a graph gives another result than was recorded.
class OtherResults : public Error {
 public:
  /// `may_run_again`: the run has neither written to given tensors nor drawn random numbers yet.
  OtherResults(const std::string& what, bool may_run_again) : Error(what), may_run_again_(may_run_again) {}
  bool mayRunAgain() const { return may_run_again_; }

 private:
  bool may_run_again_;
};

/// Throws OtherResults. No ErrorsHeard of a caller hears it, as callers may run something else instead.
[[noreturn]] void throwOtherResults(const std::string& what, bool may_run_again);

/// For people: the first of the node's results that isn't as it was recorded, and what to do. Empty: there is none, or
/// `returns` are not as many as the node's. Of wrapper tensors only dtypes and sizes are compared.
std::string otherResult(const Graph::Node& node, const Stack& returns, const Compared& compared);
/// Compares the results of a node that has run, for a run that calls the nodes in the graph's order. Throws
/// OtherResults, with `before` and `after` around the text, unless only the library's kernels run for the node now, or
/// only strides differ, and no node relies on them. `strict`: they have to be the same also then.
void compareResults(const Graph& graph, const Graph::Node& node, const Stack& returns, Compared compared, bool strict,
                    const char* before, const char* after);

/// For people, of a node whose kernels have to agree: what to do. `on`: where its results lie.
std::string whatHasToAgree(const Device& on, const char* what);

/// Whether a node has strides among its arguments that follow from how a tensor of the graph lay.
bool reliesOnStrides(const Graph& graph);
/// Whether a node has a place in a storage among its arguments.
bool hasPlaces(const Graph& graph);

/// Whether the program has registered a kernel that calls of the node's operator may run, for the devices of its
/// tensors, or one that says what results are when it is recorded (Meta, Fake).
bool hasProgramKernel(const Graph::Node& node);
/// The same without the operators that stand in Shunt's graphs only ("trace"), whose results runs don't rely on.
bool mayGiveOtherResults(const Graph::Node& node);

}  // namespace shunt::trace_detail
