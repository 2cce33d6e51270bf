#include "src/core/alias_sets.h"

#include <shunt/core/stack_tensors.h>

#include <algorithm>

namespace shunt::detail {
namespace {

bool meet(const std::optional<AliasInfo>& argument, const std::optional<AliasInfo>& result) {
  if (!argument || !result || argument->isWildcardAfter() || result->isWildcardBefore()) return false;
  return std::ranges::any_of(argument->after_sets, [&](const std::string& set) {
    return std::ranges::find(result->before_sets, set) != result->before_sets.end();
  });
}

bool isSame(const IValue& a, const IValue& b) {
  return a.isTensor() && b.isTensor() && a.toTensor().defined() && a.toTensor().is_same(b.toTensor());
}

}  // namespace

bool sharesAliasSet(const Argument& argument, const Argument& result) {
  return meet(argument.alias, result.alias) || meet(argument.container_alias, result.container_alias) ||
         meet(argument.alias, result.container_alias) || meet(argument.container_alias, result.alias);
}

bool isGiven(const IValue& argument) {
  bool any = false;
  forEachTensor(argument, [&](const Tensor&) { any = true; });
  return any;
}

std::vector<std::optional<size_t>> returnedArguments(const FunctionSchema& schema, const Stack& arguments,
                                                     const Stack& results) {
  std::vector<std::optional<size_t>> out(schema.returns().size());
  for (size_t r = 0; r < out.size(); ++r) {
    if (!schema.returns()[r].is_write()) continue;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const Argument& a = schema.arguments()[i];
      if (!a.is_write() || !isGiven(arguments[i]) || !sharesAliasSet(a, schema.returns()[r])) continue;
      const bool is_it = r < results.size() && isSame(arguments[i], results[r]);
      if (!out[r] || is_it) out[r] = i;
      if (is_it) break;
    }
  }
  return out;
}

}  // namespace shunt::detail
