// A call of one operator on the CPU and the same call on Meta, and where they disagree.
//
// The twin of a tensor has its dtype, sizes, strides, offset and wrapped-number flag; tensors that share memory have
// twins that share theirs. Values of one call; any thread.
#pragma once

#include <shunt/shunt.h>

#include <string>

namespace meta {

enum class Verdict : uint8_t { kBothRan, kBothThrew, kDataDecided, kDisagree };

struct Comparison {
  Verdict verdict = Verdict::kDisagree;
  /// What each made of the call where they disagree.
  std::string cpu, meta;
};

/// Runs the operator on `stack`, tensors on the CPU, and on its twin. `stack` holds the results afterwards unless it
/// threw.
Comparison callBoth(const shunt::OperatorHandle& op, shunt::Stack& stack);

}  // namespace meta
