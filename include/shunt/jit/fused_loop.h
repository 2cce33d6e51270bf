// A fused loop: several pointwise operators, computed element by element in one native function. This header describes
// the loop for the compiler, and how its function is called. Data only; no LLVM here.
//
// A fused loop gives the same bits as the loops of its steps, one after another: each result is rounded to its dtype
// before another step reads it. It allocates nothing and throws nothing. Any thread may run it, several at once on
// different rows. A caller splits a large region by rows, or an inner dimension by moving the pointers.
#pragma once

#include <shunt/elementwise/loop_types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace shunt::jit {

/// The stride of an operand along the inner dimension. kUnit: consecutive elements; kZero: one element for the whole
/// row; kAny: as FusedCall gives it.
enum class FusedStride : uint8_t { kUnit, kZero, kAny };

/// An operand that the loop reads from memory.
struct FusedInput {
  ScalarType dtype = ScalarType::Undefined;  // in memory; steps cast it
  FusedStride stride = FusedStride::kUnit;   // along the inner dimension
  std::optional<uint64_t> constant = {};     // of kZero: the element's bytes, as part of the code; then not read
  bool operator==(const FusedInput&) const = default;
};

/// What a step reads: an input of the loop or the result of an earlier step, cast to the common dtype of the step. A
/// number is an input with kZero, or a scalar of the step if its functor has scalars.
struct FusedOperand {
  /// What `index` counts: FusedLoopSpec::inputs or ::steps.
  enum Kind : uint8_t { kInput, kStep };
  Kind kind = kInput;
  uint16_t index = 0;
  bool operator==(const FusedOperand&) const = default;
};

/// One pointwise operator of the loop.
struct FusedStep {
  elementwise::GenericLoopFn body = nullptr;  // LoopRecord::Places::loop, of the common dtype
  ScalarType common = ScalarType::Undefined;  // the dtype in which the step computes
  ScalarType result = ScalarType::Undefined;  // as stored: Bool for a predicate, else the common dtype
  std::vector<FusedOperand> operands = {};    // one for each of the functor's inputs
  uint16_t first_scalar = 0;                  // the step's first position in FusedCall::scalars
  std::vector<uint64_t> constants = {};       // the bytes of its scalars, if they are part of the code
  uint64_t library = 0;                       // LoadedLibrary::number of the library of `body`; 0: none
  bool operator==(const FusedStep&) const = default;
};

/// A result of a step that the loop writes to memory.
struct FusedOutput {
  uint16_t step = 0;                        // the step that gives it; its dtype is the step's, a cast is another step
  FusedStride stride = FusedStride::kUnit;  // along the inner dimension
  bool operator==(const FusedOutput&) const = default;
};

/// The description of a loop. Equal ones share one piece of code.
struct FusedLoopSpec {
  std::vector<FusedInput> inputs = {};    // in the order of FusedCall::inputs
  std::vector<FusedStep> steps = {};      // each reads only earlier ones
  std::vector<FusedOutput> outputs = {};  // in the order of FusedCall::outputs
  bool short_rows = false;                // better for rows of less than about 64 elements, worse for longer ones
  bool operator==(const FusedLoopSpec&) const = default;
};

/// The operands of one call: `outer` rows of `inner` elements. Strides are in bytes, one for each operand in the spec's
/// order; an inner stride is read only if the spec has kAny. The memory of an output is exactly that of an input (same
/// pointer, strides and element size), or doesn't overlap it. Outputs don't overlap each other.
struct FusedCall {
  std::byte* const* outputs = nullptr;
  const int64_t* output_inner = nullptr;
  const int64_t* output_outer = nullptr;
  const std::byte* const* inputs = nullptr;
  const int64_t* input_inner = nullptr;
  const int64_t* input_outer = nullptr;
  int64_t inner = 0, outer = 0;
  const elementwise::ScalarSlot* scalars = nullptr;
};

/// Returns false if an element was invalid for a step (integer division by zero). The outputs are then unspecified.
using FusedLoopFn = bool (*)(const FusedCall& call);

}  // namespace shunt::jit
