// RecordedLoop: which loop one call of a pointwise operator ran, on what: what is needed to run the loop again without
// the operator. Note [Recorded loops] (kernels/pointwise/record.cpp).
//
// The caller's, on its stack; the kernel that is called fills it in. Each thread records its own calls.
#pragma once

#include <shunt/core/hot.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

struct RecordedLoop : ::shunt::detail::LoopRecord {
  int loops = 0;             // that the call ran itself; what follows is of the first one
  bool inner_loops = false;  // and in calls inside of it
  bool may_refuse = false;   // elements that are invalid
  bool only_copies = false;  // its functor gives elements as they are
  bool large = false;        // its functor is of many instructions (Functor::kLarge)
  LoopFn run = nullptr;      // null where the functor isn't defined for the dtype
  int num_inputs = 0, num_scalars = 0;
  const TensorImpl* written = nullptr;        // a given output
  const TensorImpl* inputs[kMaxInputs] = {};  // null: a number
  ScalarType input_dtypes[kMaxInputs] = {};   // as the loop wants them: others are cast for it
  ScalarType output_dtype = ScalarType::Undefined;
  ScalarSlot numbers[kMaxInputs] = {};
  ScalarSlot scalars[kMaxScalars] = {};
};

/// While it lives, the calling thread's call in the frame that is innermost now is recorded.
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
