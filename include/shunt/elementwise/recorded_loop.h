// RecordedLoop: which loop one call of a pointwise operator ran, and on which operands. It has all that is needed to
// run the loop again without the operator. Note [Recorded loops] (kernels/pointwise/record.cpp).
//
// The caller owns it, on its stack; the kernel that is called fills it in. Each thread records its own calls.
#pragma once

#include <shunt/core/hot.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

struct RecordedLoop : ::shunt::detail::LoopRecord {
  /// The recorded call sets all fields.
  int loops = 0;                                    // how many the call ran itself; `run` and so on are of the first
  bool inner_loops = false;                         // calls inside the call ran loops
  bool may_refuse = false;                          // the loop may find invalid elements
  bool only_copies = false;                         // the functor returns elements unchanged
  bool large = false;                               // Functor::kLarge
  LoopFn run = nullptr;                             // null if the functor isn't defined for the dtype
  int num_inputs = 0, num_scalars = 0;              // used entries of the arrays below
  const TensorImpl* written = nullptr;              // the given output; null: a new one
  const TensorImpl* inputs[kMaxInputs] = {};        // null: a number
  ScalarType input_dtypes[kMaxInputs] = {};         // as the loop takes them; the caller casts other dtypes
  ScalarType output_dtype = ScalarType::Undefined;  // as the loop writes it
  ScalarSlot numbers[kMaxInputs] = {};              // inputs that are numbers, in their input_dtypes
  ScalarSlot scalars[kMaxScalars] = {};             // in the compute type
};

/// While it lives, it records the calling thread's call in the frame that was innermost at its construction.
class SHUNT_API RecordingOfLoop {
 public:
  explicit RecordingOfLoop(RecordedLoop& loop);
  ~RecordingOfLoop();
  RecordingOfLoop(const RecordingOfLoop&) = delete;
  RecordingOfLoop& operator=(const RecordingOfLoop&) = delete;

 private:
  ::shunt::detail::LoopRecord* outer_record_;
  RecordedLoop* outer_;
};

}  // namespace shunt::elementwise
