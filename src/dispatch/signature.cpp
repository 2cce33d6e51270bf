// C++ signatures against schemas.
#include "src/base/demangled.h"
#include "src/dispatch/errors.h"

#include <algorithm>

namespace shunt {
namespace {

bool matches(const Type& schema, const Type& cpp) {
  if (schema.kind != cpp.kind || schema.optional != cpp.optional || schema.list != cpp.list ||
      schema.element_optional != cpp.element_optional || !std::ranges::equal(schema.elements, cpp.elements, matches))
    return false;
  // A C++ array of fixed length must have the schema's; a list takes any.
  return !cpp.fixed_size || cpp.fixed_size == schema.fixed_size;
}

}  // namespace

std::string misfit(const FunctionSchema& schema, const CppSignature& signature) {
  const auto& args = schema.arguments();
  if (args.size() != signature.arguments.size())
    return detail::str("the schema has ", args.size(), " arguments, the function ", signature.arguments.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (!matches(args[i].type, signature.arguments[i]))
      return detail::str("argument ", i + 1, " ('", args[i].name, "') is '", args[i].type, "' in the schema, '",
                         signature.arguments[i], "' in C++");
    const bool is_tensor = args[i].type.isPlain(TypeKind::Tensor);
    // A written one may be a const Tensor& too: another name of the same tensor.
    if (is_tensor && signature.mutable_arguments[i] && !args[i].is_write())
      return detail::str("argument ", i + 1, " ('", args[i].name,
                         "') is not written in the schema, so C++ takes const Tensor&");
  }
  if (schema.returns().size() != signature.returns.size())
    return detail::str("the schema returns ", schema.returns().size(), " values, the function ",
                       signature.returns.size());
  for (size_t i = 0; i < schema.returns().size(); ++i)
    if (!matches(schema.returns()[i].type, signature.returns[i]))
      return detail::str("return ", i + 1, " is '", schema.returns()[i].type, "' in the schema, '",
                         signature.returns[i], "' in C++");
  return "";
}

std::string CppSignature::str() const { return detail::demangled(id->name()); }

std::string placeOf(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const size_t slash = file.find_last_of('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  // Each registration asks for this: a stream would be a sixth of the library's loading.
  return std::string(file) + ':' + std::to_string(where.line());
}

void checkSignatureAgainstSchema(const FunctionSchema& schema, const std::string& schema_place,
                                 const CppSignature& signature, const std::string& kernel_place) {
  if (const std::string what = misfit(schema, signature); !what.empty())
    throw Error(detail::str("operator ", schema.operator_name(),
                            ": the kernel's C++ signature does not fit the schema: ", what, "\n  schema:    ", schema,
                            "\n             defined at ", schema_place, "\n  signature: ", signature.str(),
                            "\n             registered at ", kernel_place));
}

void checkAskedAgainstSchema(const FunctionSchema& schema, const std::string& schema_place, const CppSignature& asked,
                             const std::string& asked_place) {
  if (const std::string what = misfit(schema, asked); !what.empty())
    throw Error(detail::str("operator ", schema.operator_name(),
                            ": typed<>() was asked for a C++ signature that does not fit the schema: ", what,
                            "\n  asked:  ", asked.str(), "\n          at ", asked_place, "\n  schema: ", schema,
                            "\n          defined at ", schema_place));
}

FunctionSchema inferSchema(OperatorName name, const CppSignature& signature) {
  std::vector<Argument> arguments, returns;
  std::optional<std::string> written;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    Argument a;
    a.name = "_" + std::to_string(i);
    a.type = signature.arguments[i];
    if (signature.mutable_arguments[i]) {
      std::string set(1, static_cast<char>('a' + i));
      a.alias = AliasInfo({set}, {set}, true);
      if (!written) written = set;
    }
    arguments.push_back(std::move(a));
  }
  for (const Type& t : signature.returns) {
    Argument r;
    r.type = t;
    returns.push_back(std::move(r));
  }
  return FunctionSchema(std::move(name), std::move(arguments), std::move(returns));
}

}  // namespace shunt
