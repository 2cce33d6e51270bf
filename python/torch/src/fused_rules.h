// Which of PyTorch's operators may be members of a group of fused ones, and what their results may differ by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt_torch {

/// kExact: PyTorch's bits. kFast: Shunt's functions, sums and products, within the bounds below of PyTorch's.
enum class Numerics : uint8_t { kExact, kFast };

/// What a result may differ by from PyTorch's on the same inputs. eps is that of the dtype.
enum class Bound : uint8_t {
  kSame,      // nothing
  kFunction,  // 4 eps of it: each is within 2 ulp of the correctly rounded value
  kMixed,     // 8 eps of it and of the magnitudes of the inputs: functions with cancellation in them
  kSum,       // n eps of the same operator on the magnitudes of its inputs; n: terms of a result (termsOf)
  kUpdate,    // 16 eps of it and of what the operator makes of the magnitudes of its inputs
  kRow,       // n eps of the largest magnitude of the result; n: elements of a row
};

struct FusedRule {
  std::string_view name;         // PyTorch's operator, with its overload
  const char* scaled = nullptr;  // Shunt's where its third argument, alpha, isn't 1
  Bound bound = Bound::kSame;
  bool has_indices = false;  // int64 tensors among its arguments and results
  // Elements of a result, multiplications of a convolution: of more PyTorch's kernels are as fast or faster, since
  // these operators' results are copied to their places.
  int64_t most = INT64_MAX;
  bool may_refuse = false;  // elements of these: fused only where the error is found before anything changes outside
};

/// Null where an operator is never fused.
const FusedRule* fusedRule(const std::string& name, Numerics numerics);

}  // namespace shunt_torch
