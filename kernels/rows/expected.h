// Kernels along rows of dense tensors (reductions, softmax, layer_norm) as a thunk runs them, without the interpreter's
// plan and look at the operands. The same mechanism as of elementwise kernels: Note [Expected operands]
// (kernels/pointwise/expected.h). Each kernel has an entry, which records the operands that it has before it, and an
// expecting form of that, which compares them with the record and runs expectedLoop(), or else calls the entry.
// Reductions and scans share one entry, and a descriptor says what is computed: request.h.
//
// A thunk calls the loop of the instruction set in use, for a whole call. Compiled for the thunk, a loop along rows
// took 35 to 120 ms and saved a few nanoseconds: sums of 32 rows of 64 floats 131 instead of 137 ns, of bfloat16, which
// loads by a run-time dtype, 217 instead of 288. The interpreter runs the same loop where it fits. Bits: all loops have
// the order of Note [Order of reductions] (kernels/rows/loop_table.h).
#pragma once

#include <shunt/core/missed_call.h>
#include <shunt/core/parallel.h>

#include <initializer_list>

namespace shunt::rows {

using Record = ::shunt::detail::LoopRecord;

inline constexpr int kMaxInputs = Record::kMaxInputs;
inline constexpr int kMaxOutputs = 3;

/// A dense tensor as outer x n x inner elements around the kernel's dimensions: rows of n consecutive elements where
/// inner is 1, else columns.
struct Shape {
  int64_t outer = 1, n = 1, inner = 1;

  Shape() = default;
  /// The kernel's dimensions are `count` ones from `first` on.
  SHUNT_ALWAYS_INLINE Shape(const TensorImpl& t, int64_t first, int64_t count) {
    const IntArrayRef sizes = t.sizes();
    const int64_t ndim = t.dim();
    for (int64_t d = 0; d < ndim; ++d)
      (d < first ? outer : d < first + count ? n : inner) *= sizes[static_cast<size_t>(d)];
  }
  bool empty() const { return outer * n * inner == 0; }
  /// Enough to do for a loop, and not enough for a second thread, with which the interpreter splits otherwise.
  SHUNT_ALWAYS_INLINE bool worthLoop() const {
    return outer > 0 && inner > 0 && n > 1 && outer * n * inner <= kDefaultGrain;
  }
};

/// Operands that have no place in a kernel are null.
struct Call : Shape {
  const std::byte* in[kMaxInputs] = {};
  std::byte* out[kMaxOutputs] = {};
  ScalarType dtype = ScalarType::Undefined;   // of inputs
  ScalarType result = ScalarType::Undefined;  // of outputs
  double number = 0;                          // the kernel's own
};

/// The loop of a whole call, of any dtypes.
using LoopFn = void (*)(const Call&);

/// What the compiler puts in: the operands, and the loop for them. In the library itself: nothing, and an error.
extern const Record kExpected;
void expectedLoop(const Call& call);

SHUNT_ALWAYS_INLINE ScalarType expectedDtype(int input) {
  return ::shunt::detail::signature::dtypeOf(kExpected.signature[input]);
}
/// Dense, on the CPU, of the dtype that was recorded.
SHUNT_ALWAYS_INLINE bool isExpected(const TensorImpl* t, int input) {
  return t != nullptr && t->signature() == kExpected.signature[input];
}
SHUNT_ALWAYS_INLINE bool isExpectedOrAbsent(const TensorImpl* t, int input) {
  return kExpected.signature[input] == 0 ? t == nullptr : isExpected(t, input);
}
/// As the loops of whole calls take it.
SHUNT_ALWAYS_INLINE bool isDenseCpu(const TensorImpl& t) {
  const LayoutClass layout = ::shunt::detail::signature::layoutOf(t.signature());
  return t.device().is_cpu() && (layout == LayoutClass::kContiguous || layout == LayoutClass::kOneElement);
}
/// Null for null.
SHUNT_ALWAYS_INLINE std::byte* dataOf(const TensorImpl* t, ScalarType dtype) {
  return t != nullptr ? t->storage()->data() + t->storage_offset() * elementSize(dtype) : nullptr;
}

/// A kernel for the compiler.
struct Kernel {
  const char* family;
  const void* entry;
  const void* expecting;
  const void* miss;  // the entry again, as the expecting form calls it
  LoopFn loop;       // null: none for this dtype
  uint64_t id;       // differs from that of other kernels of the same entry
  ScalarType common;
  uint16_t output = 0;  // signature of the result that is expected
};
/// Notes it, if the thread's call is being recorded and this is its first kernel with a loop, and all inputs are dense.
SHUNT_COLD void record(const Kernel& kernel, std::initializer_list<const TensorImpl*> inputs);
SHUNT_ALWAYS_INLINE bool recording() { return ::shunt::detail::tls_state.record != nullptr; }

/// Calls of entries, per thread. For tests, which tell by it that a thunk's own loop ran.
SHUNT_API uint64_t interpretedCalls();
extern constinit thread_local uint64_t interpreted_calls SHUNT_TLS_MODEL;

}  // namespace shunt::rows
