// OperatorHook: shows each operator that this thread calls, below autograd, to a recorder in Python.
//
// Note [Recording without a mode]
// A TorchDispatchMode sees the same operators, but PyTorch takes other ways while one is active: isTensorSubclassLike()
// holds for every tensor then, so that svdvals computes vectors, too, and backward of masked_fill sums in another
// order. What is recorded there has other bits than eager code. The hook is a backend fallback of the dispatch key
// Fake, which has none in PyTorch 2.13, and lies where modes lie. Constructors that read Python's data leave Fake out,
// as they do with modes, and show `lift_fresh` alone.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

/// Called once, when the extension is loaded. Throws where another library has taken the key.
void registerOperatorHook();

/// While it is entered, `recorder.before(operator, args, kwargs)` is called before each operator of this thread and of
/// those that work for its backward(), and where it returns something other than None, `recorder.after(that, result)`
/// once it has run, or `recorder.failed(that)` where it threw. Operators that these call themselves aren't shown.
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
