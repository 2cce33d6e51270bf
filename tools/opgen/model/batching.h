// batching.yaml -> what vmap does with each operator.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

enum class BatchKind { kPointwise, kDims, kReduction, kRule, kRandom, kUnsupported };

/// An argument that names dimensions or sizes.
struct BatchArgument {
  size_t position;
  char role;  // 'd': a dimension or several; 'e': of a tensor with one more; 'a': all; 's': sizes
};

struct BatchRule {
  const OperatorDef* op;
  BatchKind kind;
  std::vector<BatchArgument> arguments = {};
  std::string text = {};                    // the rule's function, or why it is refused
  const OperatorDef* functional = nullptr;  // of an in-place form whose rule is the functional form's
};
using BatchRules = std::vector<BatchRule>;

/// Fails on unknown operators and arguments, on operators listed twice or needlessly, and on those left out.
BatchRules readBatching(const std::string& path, const Dictionary& dictionary);

/// "rule", "random", "composite", "refused", or nothing for operators without tensors; of the operators' table.
std::string batchingOf(const BatchRules& rules, const OperatorDef& op);

}  // namespace opgen
