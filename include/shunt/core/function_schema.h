// An operator's schema, its parser and its printer, in PyTorch's schema language:
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//
// A FunctionSchema is a value and owns its parts. Any thread may read it. The constructor checks these rules:
// - argument names are unique
// - keyword-only arguments come last
// - defaults come last, with PyTorch's exceptions: keyword-only arguments and non-optional lists
// Afterwards only the namespace and the alias analysis kind can be set. Needs no tensors: the code generator links this
// file too.
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

/// What alias analysis may assume about an operator. PyTorch's graph compiler uses it; Shunt only stores it.
enum class AliasAnalysisKind : uint8_t { INTERNAL_SPECIAL_CASE, CONSERVATIVE, FROM_SCHEMA, PURE_FUNCTION };

/// The name, arguments and returns of one overload of an operator.
class SHUNT_API FunctionSchema {
 public:
  /// Throws shunt::Error if the name, the arguments or the returns break a rule of the language. The name may be empty.
  FunctionSchema(OperatorName name, std::vector<Argument> arguments, std::vector<Argument> returns,
                 bool is_vararg = false, bool is_varret = false);

  /// The name with its overload.
  const OperatorName& operator_name() const { return name_; }
  /// The parts of the name: "aten::add", "Tensor", "aten".
  const std::string& name() const { return name_.name; }
  const std::string& overload_name() const { return name_.overload_name; }
  std::optional<std::string_view> getNamespace() const { return name_.getNamespace(); }
  bool setNamespaceIfNotSet(std::string_view ns) { return name_.setNamespaceIfNotSet(ns); }

  /// All arguments in order, out= arguments included.
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  /// Whether the arguments (returns) end in `...`: any number of further values may follow.
  bool is_vararg() const { return is_vararg_; }
  bool is_varret() const { return is_varret_; }

  /// Whether any argument or return has an alias annotation.
  bool hasAnyAliasInfo() const;
  /// Whether the operator writes to any argument.
  bool is_mutable() const;
  /// Whether the operator writes to the argument. Throws shunt::Error if there is no argument of this name.
  bool is_mutable(std::string_view argument_name) const;
  /// In-place form: the name ends in `_`, the first argument is written (`add_`, `__ior__`), and no argument is out=.
  bool isInplace() const;
  /// out= form: a keyword-only argument is written.
  bool isOut() const;

  /// The argument, or its position; null or nothing if there is no argument of this name.
  const Argument* findArgument(std::string_view name) const;
  std::optional<size_t> argumentIndexWithName(std::string_view name) const;

  /// A copy with another name.
  FunctionSchema cloneWithName(OperatorName name) const;

  /// PyTorch's canonical text: parseSchema(s.str()) == s for every schema that the language can express.
  std::string str() const;

  /// CONSERVATIVE until it is set. str() doesn't show it and == doesn't compare it.
  AliasAnalysisKind aliasAnalysis() const {
    return isDefaultAliasAnalysisKind() ? AliasAnalysisKind::CONSERVATIVE : alias_analysis_;
  }
  /// Whether setAliasAnalysis has not been called.
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
  AliasAnalysisKind alias_analysis_ = AliasAnalysisKind::INTERNAL_SPECIAL_CASE;  // not set
};

SHUNT_API std::string toString(const FunctionSchema& schema);
SHUNT_API std::ostream& operator<<(std::ostream& out, const FunctionSchema& schema);

/// Parse "aten::add.Tensor(...) -> ...", with or without namespace and overload. These functions throw shunt::Error
/// with the text, the position, and what was expected and found there.
SHUNT_API FunctionSchema parseSchema(std::string_view text);
/// Parses "aten::add.Tensor". Nothing may follow the name.
SHUNT_API OperatorName parseName(std::string_view text);
SHUNT_API std::variant<OperatorName, FunctionSchema> parseSchemaOrName(std::string_view text);

}  // namespace shunt
