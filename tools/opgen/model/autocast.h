// autocast.yaml -> which operators get which cast policy.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

enum class CastPolicy { kLowerPrecision, kFloat32, kPromote };

struct AutocastRule {
  const OperatorDef* op;
  CastPolicy policy;
};

/// Fails on unknown operators, on operators listed twice, and on forms that can't be cast.
std::vector<AutocastRule> readAutocast(const std::string& path, const Dictionary& dictionary);

}  // namespace opgen
