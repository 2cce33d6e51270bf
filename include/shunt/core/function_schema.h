// An operator's schema, its parser and its printer, in PyTorch's schema language:
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//
// A FunctionSchema is a value that is valid from construction on (argument names unique, keyword-only arguments last,
// defaults last as PyTorch demands) and never changes but for its namespace; any thread may read it. Needs no tensors,
// so the code generator links it too.
#pragma once

#include <shunt/core/argument.h>
#include <shunt/core/macros.h>
#include <shunt/core/operator_name.h>
#include <shunt/core/types.h>

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shunt {

class SHUNT_API FunctionSchema {
 public:
  /// Throws shunt::Error when the arguments or returns break a rule above.
  FunctionSchema(OperatorName name, std::vector<Argument> arguments, std::vector<Argument> returns,
                 bool is_vararg = false, bool is_varret = false);

  const OperatorName& operator_name() const { return name_; }
  const std::string& name() const { return name_.name; }
  const std::string& overload_name() const { return name_.overload_name; }
  std::optional<std::string_view> getNamespace() const { return name_.getNamespace(); }
  bool setNamespaceIfNotSet(std::string_view ns) { return name_.setNamespaceIfNotSet(ns); }

  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  /// Ends in `...`: takes (returns) any number of further values.
  bool is_vararg() const { return is_vararg_; }
  bool is_varret() const { return is_varret_; }

  /// Whether any argument or return has an alias annotation.
  bool hasAnyAliasInfo() const;
  /// Whether any argument is written.
  bool is_mutable() const;
  /// Whether the argument of this name is written; an error if there is none.
  bool is_mutable(std::string_view argument_name) const;
  /// An in-place form: the name ends in `_` and the first argument is written (`add_`, `__ior__`).
  bool isInplace() const;
  /// An out= form: some keyword-only argument is written.
  bool isOut() const;

  /// nullptr, or nothing, if there is no such argument.
  const Argument* findArgument(std::string_view name) const;
  std::optional<size_t> argumentIndexWithName(std::string_view name) const;

  FunctionSchema cloneWithName(OperatorName name) const;

  /// PyTorch's canonical text. parseSchema(s.str()) == s for every schema that the language can write.
  std::string str() const;

  bool operator==(const FunctionSchema&) const = default;

 private:
  OperatorName name_;
  std::vector<Argument> arguments_;
  std::vector<Argument> returns_;
  bool is_vararg_;
  bool is_varret_;
};

SHUNT_API std::string toString(const FunctionSchema& schema);
SHUNT_API std::ostream& operator<<(std::ostream& out, const FunctionSchema& schema);

/// "aten::add.Tensor(...) -> ...", with or without namespace and overload.
/// Each of these throws shunt::Error that shows the text, the position, what was expected there and what was found.
SHUNT_API FunctionSchema parseSchema(std::string_view text);
/// "aten::add.Tensor", nothing after it.
SHUNT_API OperatorName parseName(std::string_view text);
SHUNT_API std::variant<OperatorName, FunctionSchema> parseSchemaOrName(std::string_view text);

}  // namespace shunt
