// Values that a compiled backward pass makes again, instead of keeping what the function has made on the way.
//
// Note [Values made again]
// A chain of pointwise operators saves a tensor for nearly each of them, which the function writes and the backward
// pass reads: where memory binds, that is most of what both do. What cheap operators (RecordedLoop::large says which
// aren't) make of other saved tensors is made again, in the region that reads it. Of saved ones only, so that as many
// tensors are held as in eager code, and their versions compared; and only where the function itself needs the value
// nowhere in memory, for a product or a result: else keeping it costs less. A run that somebody looks at, and one after
// a registration, gets these values from the kernels that the function has called, without their operators, and goes
// node by node through the graph that reads them all. What another thread registers while a pass runs may be seen by
// what is made again, as by the pass's own operators.
#pragma once

#include "src/compile/backward/split.h"

#include <shunt/core/kernel_function.h>

#include <span>
#include <vector>

namespace shunt::compiled {

/// Constant once made; any thread.
class Remade {
 public:
  /// Takes out of `saved` what had better be made again.
  Remade(const Joint& joint, std::vector<SavedValue>& saved);

  const std::vector<SavedValue>& values() const { return values_; }
  bool none() const { return values_.empty(); }
  /// Puts the values behind the saved ones that are given, in their order.
  void appendTo(std::vector<Tensor>& given) const;

 private:
  std::vector<SavedValue> values_;
  Graph graph_;                         // gives the values of the saved ones
  std::vector<BoxedKernelFn> kernels_;  // of its nodes
};

}  // namespace shunt::compiled
