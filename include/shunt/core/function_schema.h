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

/// What alias analysis may assume of an operator: what PyTorch's graph compiler asks; Shunt keeps it and asks nothing.
enum class AliasAnalysisKind : uint8_t { INTERNAL_SPECIAL_CASE, CONSERVATIVE, FROM_SCHEMA, PURE_FUNCTION };

/// An operator's name, arguments and returns.
class SHUNT_API FunctionSchema {
 public:
  /// Throws shunt::Error when the arguments or returns break a rule above.
  FunctionSchema(OperatorName name, std::vector<Argument> arguments, std::vector<Argument> returns,
                 bool is_vararg = false, bool is_varret = false);

  const OperatorName& operator_name() const { return name_; }
  /// The parts of the name: "aten::add", "Tensor", "aten".
  const std::string& name() const { return name_.name; }
  const std::string& overload_name() const { return name_.overload_name; }
  std::optional<std::string_view> getNamespace() const { return name_.getNamespace(); }
  bool setNamespaceIfNotSet(std::string_view ns) { return name_.setNamespaceIfNotSet(ns); }

  /// In their order; out= arguments are among the arguments.
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

  /// The same schema under another name.
  FunctionSchema cloneWithName(OperatorName name) const;

  /// PyTorch's canonical text. parseSchema(s.str()) == s for every schema that the language can write.
  std::string str() const;

  /// CONSERVATIVE until it is set. No part of the schema's text, and not compared.
  AliasAnalysisKind aliasAnalysis() const {
    return isDefaultAliasAnalysisKind() ? AliasAnalysisKind::CONSERVATIVE : alias_analysis_;
  }
  /// Whether nobody has set it yet.
  bool isDefaultAliasAnalysisKind() const { return alias_analysis_ == AliasAnalysisKind::INTERNAL_SPECIAL_CASE; }
  void setAliasAnalysis(AliasAnalysisKind kind) { alias_analysis_ = kind; }

  bool operator==(const FunctionSchema& o) const {
    return name_ == o.name_ && arguments_ == o.arguments_ && returns_ == o.returns_ && is_vararg_ == o.is_vararg_ &&
           is_varret_ == o.is_varret_;
  }

 private:
  OperatorName name_;
  std::vector<Argument> arguments_;
  std::vector<Argument> returns_;
  bool is_vararg_;
  bool is_varret_;
  AliasAnalysisKind alias_analysis_ = AliasAnalysisKind::INTERNAL_SPECIAL_CASE;  // stands for: not set
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
