#include "tools/opgen/model/cpp_types.h"

#include <shunt/core/error.h>

#include <fmt/format.h>

#include <cmath>

namespace opgen {

using shunt::Argument;
using shunt::DefaultValue;
using shunt::Type;
using shunt::TypeKind;

namespace {

// The element type by value, in the order of TypeKind; null where kernels can't take it.
constexpr const char* kPlainTypes[shunt::kNumTypeKinds] = {
    "Tensor",           "Scalar",     "int64_t", "double", "bool",
    "std::string_view", "ScalarType", "Layout",  "Device", "MemoryFormat",
    "Generator",        nullptr,      nullptr,   nullptr,  nullptr};

std::string plainType(const Type& t) {
  const char* text = kPlainTypes[static_cast<size_t>(t.kind)];
  if (text == nullptr) throw shunt::Error("the type " + t.str() + " has no C++ type in kernels");
  return text;
}

std::string listType(const Type& t) {
  const std::string element = plainType(t);
  if (t.kind == TypeKind::Tensor) return t.element_optional ? "TensorOptList" : "TensorList";
  if (t.element_optional) throw shunt::Error("the type " + t.str() + " has no C++ type in kernels");
  if (t.kind == TypeKind::Int) return "IntArrayRef";
  if (t.kind == TypeKind::Bool && t.fixed_size) return fmt::format("std::array<bool, {}>", *t.fixed_size);
  return "ArrayRef<" + element + ">";
}

std::string ownedReturn(const Argument& r) {
  if (r.type.list) return "std::vector<" + plainType(r.type) + ">";
  const std::string plain = plainType(r.type);
  if (r.is_write() && isTensor(r)) return plain + "&";
  return r.type.optional ? "std::optional<" + plain + ">" : plain;
}

struct DefaultPrinter {
  const Argument& argument;

  std::string operator()(DefaultValue::None) const {
    return argument.type.list || isTensor(argument) ? "{}" : "std::nullopt";
  }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const {
    if (std::isinf(v))
      return v > 0 ? "std::numeric_limits<double>::infinity()" : "-std::numeric_limits<double>::infinity()";
    std::string text = fmt::format("{}", v);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const shunt::EnumConstant& v) const {
    if (argument.type.kind == TypeKind::Int) return std::to_string(v.value);
    return fmt::format("static_cast<{}>({})", plainType(argument.type), v.value);
  }
  std::string operator()(const DefaultValue::List& list) const {
    std::vector<std::string> parts;
    for (const DefaultValue& v : list) parts.push_back(std::visit(*this, v.value));
    return "{" + join(parts, ", ") + "}";
  }
};

}  // namespace

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string argumentType(const Argument& a) {
  const Type& t = a.type;
  if (t.list) {
    if (isTensor(a) && t.optional) throw shunt::Error("the type " + t.str() + " has no C++ type in kernels");
    if (t.optional && t.kind == TypeKind::Int) return "OptionalIntArrayRef";
    return t.optional ? "std::optional<" + listType(t) + ">" : listType(t);
  }
  const std::string plain = plainType(t);
  if (t.kind == TypeKind::Tensor && !t.optional) return a.is_write() ? "Tensor&" : "const Tensor&";
  const std::string value = t.optional ? "std::optional<" + plain + ">" : plain;
  return t.kind == TypeKind::Tensor || t.kind == TypeKind::Scalar ? "const " + value + "&" : value;
}

std::string publicArgumentType(const Argument& a) {
  const std::string type = argumentType(a);
  return type == "OptionalIntArrayRef" ? "OptionalDims" : type;
}

std::string returnType(const OperatorDef& op) {
  const auto& returns = op.returns();
  if (returns.empty()) return "void";
  if (returns.size() == 1) return ownedReturn(returns[0]);
  std::vector<std::string> parts;
  for (const Argument& r : returns) parts.push_back(ownedReturn(r));
  return "std::tuple<" + join(parts, ", ") + ">";
}

std::string defaultExpression(const Argument& a) {
  return a.default_value ? std::visit(DefaultPrinter{a}, a.default_value->value) : "";
}

std::string structName(const OperatorDef& op) {
  // A struct `std` would hide the namespace from everything in `ops`.
  if (op.overload().empty()) return op.name() == "std" ? "std_" : op.name();
  return op.name() + "_" + op.overload();
}

namespace {
template <class F>
std::string list(const OperatorDef& op, const std::string& lead, F&& one) {
  std::vector<std::string> parts;
  if (!lead.empty()) parts.push_back(lead);
  for (const Argument& a : op.arguments()) parts.push_back(one(a));
  return join(parts, ", ");
}
}  // namespace

std::string parameters(const OperatorDef& op, const std::string& lead) {
  return list(op, lead, [](const Argument& a) { return argumentType(a) + " " + a.name; });
}
std::string argumentNames(const OperatorDef& op, const std::string& lead) {
  return list(op, lead, [](const Argument& a) { return a.name; });
}
std::string argumentTypes(const OperatorDef& op, const std::string& lead) {
  return list(op, lead, [](const Argument& a) { return argumentType(a); });
}

std::string signature(const OperatorDef& op, bool keyset) {
  return returnType(op) + "(" + argumentTypes(op, keyset ? "DispatchKeySet" : "") + ")";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace opgen
