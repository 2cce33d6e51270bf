#include "tools/opgen/model/saved_values.h"

#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

using shunt::Argument;
using shunt::TypeKind;

namespace {

enum class Storage { kVariable, kOptionalVariable, kVariableList, kOptionalVariableList, kOwned, kValue };

Storage storageOf(const SavedValue& s) {
  if (s.isProperty()) return s.property_type.rfind("std::vector", 0) == 0 ? Storage::kOwned : Storage::kValue;
  if (s.argument == nullptr) return s.is_output_list ? Storage::kVariableList : Storage::kVariable;
  const Argument& a = *s.argument;
  if (isTensor(a)) {
    if (a.type.list) return a.type.element_optional ? Storage::kOptionalVariableList : Storage::kVariableList;
    return a.type.optional ? Storage::kOptionalVariable : Storage::kVariable;
  }
  const bool by_view = a.type.kind == TypeKind::String || (a.type.list && argumentType(a).rfind("std::array", 0) != 0);
  return by_view ? Storage::kOwned : Storage::kValue;
}

/// The type of a member that owns a list or a string.
std::string ownedType(const SavedValue& s) {
  if (s.isProperty()) return s.property_type;
  const Argument& a = *s.argument;
  std::string type = "std::string";
  if (a.type.list) {
    Argument element = a;
    element.type = shunt::Type{};
    element.type.kind = a.type.kind;
    std::string plain = argumentType(element);
    if (a.type.kind == TypeKind::Scalar) plain = "Scalar";
    type = "std::vector<" + plain + ">";
  }
  return a.type.optional ? "std::optional<" + type + ">" : type;
}

std::string valueType(const SavedValue& s) {
  if (s.isProperty()) return s.property_type;
  std::string type = argumentType(*s.argument);
  if (type.rfind("const ", 0) == 0) type = type.substr(6, type.size() - 7);  // const Scalar& -> Scalar
  return type;
}

}  // namespace

std::string savedMember(const SavedValue& s) {
  switch (storageOf(s)) {
    case Storage::kVariable:
    case Storage::kOptionalVariable:
      return fmt::format("  SavedVariable {}_;\n", s.name);
    case Storage::kVariableList:
    case Storage::kOptionalVariableList:
      return fmt::format("  std::vector<SavedVariable> {0}_;\n  bool {0}_released_ = false;\n", s.name);
    case Storage::kOwned:
      return fmt::format("  {} {}_;\n", ownedType(s), s.name);
    case Storage::kValue: {
      // A Device has no default.
      const char* initial = s.property_type == "Device" ? " = kCPU" : "{}";
      return fmt::format("  {} {}_{};\n", valueType(s), s.name, initial);
    }
  }
  return "";
}

std::string savedExpression(const SavedValue& s, bool inplace) {
  const std::string& e = s.expression;
  switch (storageOf(s)) {
    case Storage::kVariable:
      if (s.is_output)
        return inplace ? "SavedVariable(self, true, self.is_view())" : fmt::format("SavedVariable({}, true)", e);
      // In place, the formula wants what is about to be overwritten.
      if (inplace && s.of_self) return "SavedVariable(self.clone(), false)";
      [[fallthrough]];
    case Storage::kOptionalVariable:
      return fmt::format(
          fmt::runtime(inplace ? "SavedVariable::inplace_operand({}, self)" : "SavedVariable({}, false)"), e);
    case Storage::kVariableList:
    case Storage::kOptionalVariableList:
      return fmt::format("make_saved_variable_list({}, {})", e, s.is_output);
    case Storage::kOwned:
      if (!s.isProperty()) return fmt::format("wrappers::owned({})", e);
      return s.property_type == "std::vector<int64_t>" ? e + ".vec()" : e;
    case Storage::kValue:
      return valueType(s) == "Scalar" ? fmt::format("wrappers::kept({})", e) : e;
  }
  return "";
}

std::string savedLocal(const SavedValue& s) {
  const std::string& n = s.name;
  switch (storageOf(s)) {
    case Storage::kVariable:
      return fmt::format("  const Tensor {0} = {0}_.unpack({1});\n", n, s.is_output ? "this" : "");
    case Storage::kOptionalVariable:
      return fmt::format("  const std::optional<Tensor> {0} = wrappers::unpackOptional({0}_);\n", n);
    case Storage::kVariableList:
    case Storage::kOptionalVariableList: {
      const bool optional = storageOf(s) == Storage::kOptionalVariableList;
      const char* self = s.is_output ? ", intrusive_ptr<Node>::retainFrom(this)" : "";
      return fmt::format("  if ({0}_released_) throw_backward_twice();\n  const auto {0} = {1}({0}_{2});\n", n,
                         optional ? "unpack_opt_list" : "unpack_list", self);
    }
    case Storage::kOwned:
      if (s.isProperty() && s.property_type != "std::vector<int64_t>")
        return fmt::format("  const auto& {0} = {0}_;\n", n);
      return fmt::format("  const auto {0} = wrappers::viewOf({0}_);\n", n);
    case Storage::kValue:
      return fmt::format("  const auto& {0} = {0}_;\n", n);
  }
  return "";
}

std::string savedRelease(const SavedValue& s) {
  switch (storageOf(s)) {
    case Storage::kVariable:
    case Storage::kOptionalVariable:
      return fmt::format("    {}_.reset_data();\n", s.name);
    case Storage::kVariableList:
    case Storage::kOptionalVariableList:
      return fmt::format("    {0}_.clear();\n    {0}_released_ = true;\n", s.name);
    default:
      return "";
  }
}

}  // namespace opgen
