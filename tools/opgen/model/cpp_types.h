// The C++ spelling of schema types, arguments, defaults and whole signatures. Pure functions.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

/// `const Tensor&`, `std::optional<ScalarType>`, ... as kernels and ops::X::call take it. Throws on unsupported types.
std::string argumentType(const shunt::Argument& a);
/// As the public functions take it: argumentType, but OptionalDims for `int[]?`.
std::string publicArgumentType(const shunt::Argument& a);
/// `Tensor`, `std::tuple<Tensor&,Tensor&>`, `void`, ...
std::string returnType(const OperatorDef& op);
/// The argument's default as a C++ expression; empty when it has none.
std::string defaultExpression(const shunt::Argument& a);

/// add_Tensor
std::string structName(const OperatorDef& op);
/// `const Tensor& self, const Tensor& other`; `lead` goes in front.
std::string parameters(const OperatorDef& op, const std::string& lead = "");
/// `self, other`; `lead` goes in front.
std::string argumentNames(const OperatorDef& op, const std::string& lead = "");
/// `const Tensor&, const Tensor&`
std::string argumentTypes(const OperatorDef& op, const std::string& lead = "");
/// `Tensor(const Tensor&, const Tensor&)`
std::string signature(const OperatorDef& op, bool keyset);
/// C++ string literal with quotes.
std::string quoted(const std::string& text);

std::string join(const std::vector<std::string>& parts, const std::string& separator);

}  // namespace opgen
