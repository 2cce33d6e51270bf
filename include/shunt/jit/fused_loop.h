// A fused loop: the steps of a region of pointwise operators, computed element by element in one native function. What
// is asked of the compiler, and how its function is called. Data only; no LLVM here.
//
// A fused loop gives the bits that the chain of its steps' own loops gives: each step's result is rounded to its dtype
// before another step reads it. It allocates nothing, throws nothing, and any thread may run it, several at a time on
// different rows: a caller splits a large region by rows, or an inner dimension by moving the pointers.
#pragma once

#include <shunt/elementwise/loop_types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace shunt::jit {

/// Of an operand along the inner dimension. kUnit: consecutive elements; kZero: one element for the whole row; kAny: as
/// the call says.
enum class FusedStride : uint8_t { kUnit, kZero, kAny };

struct FusedInput {
  ScalarType dtype = ScalarType::Undefined;
  FusedStride stride = FusedStride::kUnit;
  std::optional<uint64_t> constant = {};  // of kZero: its bytes, which are part of the code then, and not read
  bool operator==(const FusedInput&) const = default;
};

/// What a step reads: an input of the region, cast to the step's common dtype on load, or the result of an earlier
/// step, cast likewise. A number is an input with kZero, or a scalar of the step where its functor has scalars.
struct FusedOperand {
  enum Kind : uint8_t { kInput, kStep };
  Kind kind = kInput;
  uint16_t index = 0;
  bool operator==(const FusedOperand&) const = default;
};

struct FusedStep {
  elementwise::GenericLoopFn body = nullptr;  // LoopRecord::Places::loop, of the common dtype
  ScalarType common = ScalarType::Undefined;  // what the step computes in
  ScalarType result = ScalarType::Undefined;  // as stored: Bool for a predicate, else the common dtype
  std::vector<FusedOperand> operands = {};    // one for each of the functor's inputs
  uint16_t first_scalar = 0;                  // of FusedCall::scalars
  std::vector<uint64_t> constants = {};       // the bytes of its scalars, which are part of the code then
  uint64_t library = 0;  // LoadedLibrary::number of the one that `body` is of; 0: none that made itself known
  bool operator==(const FusedStep&) const = default;
};

struct FusedOutput {
  uint16_t step = 0;  // whose result it is; a cast of it is a step of its own
  FusedStride stride = FusedStride::kUnit;
  bool operator==(const FusedOutput&) const = default;
};

struct FusedLoopSpec {
  std::vector<FusedInput> inputs = {};
  std::vector<FusedStep> steps = {};  // in an order in which each reads earlier ones only
  std::vector<FusedOutput> outputs = {};
  bool short_rows = false;  // of less than 64 elements or so: makes the loop better for these, worse for longer ones
  bool operator==(const FusedLoopSpec&) const = default;
};

/// The operands of one call: `outer` rows of `inner` elements. Strides in bytes, one for each operand in the spec's
/// order; the inner one is read where the spec says kAny. An output's memory is an input's exactly (same pointer,
/// strides and size of element) or apart from it, and outputs are apart from each other.
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

/// False: an element was invalid for some step (an integer division by zero); the outputs are then unspecified.
using FusedLoopFn = bool (*)(const FusedCall& call);

}  // namespace shunt::jit
