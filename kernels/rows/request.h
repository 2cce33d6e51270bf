// One call of a kernel along rows or down columns with results of its own: reductions, with indices too, and scans.
//
// An operator checks, makes a Request and calls run(), which counts the call, records it for the compiler and makes the
// results by the descriptor's engine. A thunk has runExpected() in its place (expected.h). Both return new contiguous
// tensors, on Meta without elements. Requests refer to the caller's data. Any thread.
#pragma once

#include "kernels/rows/expected.h"
#include "kernels/rows/loop_table.h"
#include "kernels/rows/plan.h"

namespace shunt::rows {

using reduce::DimSet;

/// What elements are computed in: float for the 16-bit types, int64_t for integers, uint8_t for truth values.
enum class ComputeType : uint8_t { kFloat, kDouble, kLong, kBool };
constexpr ComputeType computeTypeOf(ScalarType t) {
  if (t == kDouble) return ComputeType::kDouble;
  if (isFloatingType(t)) return ComputeType::kFloat;
  return t == kBool ? ComputeType::kBool : ComputeType::kLong;
}

/// What a call's elements lie in: rows, columns of which there are kFewestColumns or more, or something that no
/// expected loop takes (dimensions that don't follow one another, a few columns).
enum class Span : uint8_t { kNone, kRows, kColumns };
/// As many as the loop takes at once.
inline constexpr int64_t kFewestColumns = 8;

enum class Second : uint8_t { kNone, kPivots, kIndices };

struct Request;
struct Results {
  Tensor first, second;
};

/// A kernel, as constants; one for each.
struct Descriptor {
  const char* family;  // for people
  uint64_t id;         // the same in any process; the lowest two bits are 0
  int accumulator;     // its number
  reduce::ComputeIn in;
  Second second;                        // the second result, if there is one
  bool keeps_shape;                     // a scan: a result for every element
  int64_t longest_row, longest_column;  // of more elements the interpreter's loop is as good, or goes another way
  /// The interpreter: writes results of elements that are there.
  void (*engine)(const Request& request, const Results& results);
  /// Of small calls, which need no plan; null: there is none.
  LoopFn (*loop)(const Descriptor& op, ComputeType type, Span span);
};

struct Request {
  const Descriptor& op;
  const Tensor& self;
  const DimSet& dims;
  bool keepdim;
  ScalarType result;  // dtype of the first, and of pivots
  double number = 0;  // the call's own: a power, a correction

  ComputeType computeType() const {
    switch (op.in) {
      case reduce::ComputeIn::kResult:
        return computeTypeOf(result);
      case reduce::ComputeIn::kInput:
        return computeTypeOf(self.scalar_type());
      case reduce::ComputeIn::kTruth:
        return ComputeType::kBool;
      case reduce::ComputeIn::kWide:
        return result == kFloat ? ComputeType::kDouble : computeTypeOf(result);
      case reduce::ComputeIn::kDouble:
        break;
    }
    return ComputeType::kDouble;
  }
};

SHUNT_NOINLINE Results run(const Request& request);
/// The loop that it calls without the engine for tensors like this one, and their shape; null: there is none. Of a sum
/// or mean: one row of columns has a loop, too.
LoopFn loopWithoutPlan(const Descriptor& op, ComputeType type, const TensorImpl& like, const DimSet& dims,
                       Shape& shape);
/// The same, with the expected loop where the operand is the expected one.
Results runExpected(const Request& request);
/// Where it sends other operands: run(), which may record them.
SHUNT_NOINLINE Results runMissed(const Request& request, jit::MissCount* misses);

/// Calls f with a value of the type.
template <class F>
void withComputeType(ComputeType type, const F& f) {
  switch (type) {
    case ComputeType::kFloat:
      return f(float());
    case ComputeType::kDouble:
      return f(double());
    case ComputeType::kLong:
      return f(int64_t());
    case ComputeType::kBool:
      return f(uint8_t());
  }
}

}  // namespace shunt::rows
