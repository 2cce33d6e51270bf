// UniformCall: the operands of most calls, as expected.cpp takes them: dense tensors of one shape and of the loop's own
// dtypes, and numbers. Such a call is one loop over all elements. Lives on the stack of the call.
#pragma once

#include "kernels/pointwise/expected_parts.h"

namespace shunt::elementwise {

/// Whether the record's operands are such.
template <int N>
SHUNT_ALWAYS_INLINE bool isUniform(const KernelDescriptor& op, const Record& e) {
  bool uniform = true, any_tensor = false;
  unrolled<N>([&](int i) __attribute__((always_inline)) {
    const bool tensor = e.kind[i] == Record::kSameShape;
    uniform &= tensor ? dtypeOf(e, i) == op.loopInput(i, e.common) : e.kind[i] == Record::kNumber;
    any_tensor |= tensor;
  });
  return uniform && any_tensor;
}

template <int N>
struct UniformCall {
  const TensorImpl* shape = nullptr;  // of the result

  SHUNT_ALWAYS_INLINE bool take(const Request& r, const Parts<N>& p, const Record& e, Record::Form form, Views& views,
                                Slots& slots) {
    if (!isOfRecord(p, e, form)) return false;
    bool found = false;  // a constant at every place
    const auto takeInput = [&](int i) __attribute__((always_inline)) {
      const ScalarType dtype = p.op.loopInput(i, e.common);
      if (e.kind[i] == Record::kNumber) {
        views.in[i] = {slots.numbers[i].bytes, 0, dtype};
        return takePlainNumber(p, i, e, slots);
      }
      const TensorImpl* t = p.tensors[i];
      if (t == nullptr || t->signature() != e.signature[i]) return false;
      if (found && t != shape && !sameSizes(*t, *shape)) return false;
      if (!found) shape = t;
      found = true;
      views.in[i] = {dataOf(*t, dtype), sizeOf(dtype), dtype};
      return true;
    };
    return allOf<N>(takeInput) && makesDense(r, p, e, *shape);
  }

  SHUNT_ALWAYS_INLINE bool loop(const Parts<N>& p, const Record& e, Views& views, const Slots& slots, std::byte* out) {
    return runLoop(p, e, out, views.in, shape->numel(), slots.scalars);
  }
};

}  // namespace shunt::elementwise
