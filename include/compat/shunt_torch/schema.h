// Comparing and inferring schemas, by the names that sources written for PyTorch use. Pure functions; any thread.
#pragma once

#include <shunt/core/dict.h>
#include <shunt/core/kernel_function.h>

#include <optional>
#include <string>

namespace shunt {

/// The schema of a kernel's C++ signature. Its arguments are named _0, _1, ...
inline FunctionSchema inferFunctionSchema(OperatorName name, const CppSignature& signature) {
  std::vector<Argument> arguments, returns;
  for (const Type& type : signature.arguments) {
    Argument a;
    a.name = "_" + std::to_string(arguments.size());
    a.type = type;
    arguments.push_back(std::move(a));
  }
  for (const Type& type : signature.returns) {
    Argument r;
    r.type = type;
    returns.push_back(std::move(r));
  }
  return FunctionSchema(std::move(name), std::move(arguments), std::move(returns));
}

namespace detail {
/// The first difference of two lists of arguments or returns. `what` is the word for one element, for the message.
inline std::optional<std::string> findDifference(const std::string& what, const std::vector<Argument>& left,
                                                 const std::vector<Argument>& right) {
  if (left.size() != right.size())
    return str("The number of ", what, "s is different. ", left.size(), " vs ", right.size(), ".");
  for (size_t i = 0; i < left.size(); ++i)
    if (!(left[i].type == right[i].type))
      return str("Type mismatch in ", what, " ", i + 1, ": ", left[i].type, " vs ", right[i].type);
  return std::nullopt;
}
}  // namespace detail

/// A message about the first difference in the types of two schemas; empty if they agree. Names and defaults don't
/// count.
inline std::optional<std::string> findSchemaDifferences(const FunctionSchema& left, const FunctionSchema& right) {
  auto found = detail::findDifference("argument", left.arguments(), right.arguments());
  return found ? found : detail::findDifference("return", left.returns(), right.returns());
}

}  // namespace shunt
