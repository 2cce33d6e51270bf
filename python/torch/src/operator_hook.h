// OperatorHook: shows each operator that this thread calls, below autograd, to a recorder in Python.
//
// Note [Recording without a mode]
// A TorchDispatchMode sees the same operators, but PyTorch takes other ways while one is active: isTensorSubclassLike()
// holds for every tensor then, so that svdvals computes vectors, too, and backward of masked_fill sums in another
// order. What is recorded there has other bits than eager code. The hook is a backend fallback of the dispatch key
// Fake, which has none in PyTorch 2.13, and lies where modes lie. Constructors that read Python's data leave Fake out,
// as they do with modes, and show `lift_fresh` alone.
//
// Note [Composites that look]
// The ways not taken under a mode are in part those that read or write memory without an operator: ctc_loss reads
// lengths, an LSTM the sizes of a packed batch, max_pool1d writes its result. A fallback of the key DeferredInit, above
// autograd, finds these by their names.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

/// Called once, when the extension is loaded. Throws where another library has taken the key.
void registerOperatorHook();

/// While it is entered, `recorder.before(operator, args, kwargs)` is called before each operator of this thread and of
/// those that work for its backward(), and where it returns something other than None, `recorder.after(that, result)`
/// once it has run, or `recorder.failed(that)` where it threw. Operators that these call themselves aren't shown.
/// `recorder.reads(name, tensor)` is called where an operator is going to look at a tensor's elements by itself,
/// `recorder.refuses(name)` where it can't be recorded.
class OperatorHook {
 public:
  explicit OperatorHook(py::object recorder) : recorder_(std::move(recorder)) {}
  void enter();
  void exit();
  /// Whether one is entered here.
  static bool isActive();

 private:
  py::object recorder_;
};

}  // namespace shunt_torch
