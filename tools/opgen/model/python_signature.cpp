#include "tools/opgen/model/python_signature.h"

#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <variant>

namespace opgen {

using shunt::Argument;
using shunt::DefaultValue;
using shunt::Type;
using shunt::TypeKind;

namespace {

// The type of one value, in the order of TypeKind.
constexpr std::array<const char*, static_cast<size_t>(TypeKind::Generator) + 1> kNames = {
    "Tensor", "Number", "int", "float", "bool", "str", "dtype", "layout", "Device", "memory_format", "Generator"};

std::string plainName(const Type& t) {
  const auto kind = static_cast<size_t>(t.kind);
  return kind < kNames.size() ? kNames[kind] : "Any";
}

std::string parameterType(const Type& t) {
  std::string text = plainName(t);
  if (t.list) {
    // A list with a size takes a single value, too.
    const std::string element = t.element_optional ? text + " | None" : text;
    text = (t.fixed_size ? text + " | " : "") + "Sequence[" + element + "]";
  }
  return t.optional ? text + " | None" : text;
}

struct DefaultText {
  std::string operator()(DefaultValue::None) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return "'" + v + "'"; }
  std::string operator()(const shunt::EnumConstant& v) const { return v.name; }
  std::string operator()(const DefaultValue::List& list) const {
    std::vector<std::string> parts;
    for (const DefaultValue& v : list) parts.push_back(std::visit(*this, v.value));
    return "(" + join(parts, ", ") + (parts.size() == 1 ? ",)" : ")");
  }
};

PythonParameter parameterOf(const Argument& a, bool function) {
  PythonParameter p;
  p.name = function && a.name == "self" ? "input" : a.name;
  p.type = parameterType(a.type);
  if (a.default_value) p.default_value = std::visit(DefaultText(), a.default_value->value);
  p.keyword_only = a.kwarg_only;
  return p;
}

std::string returnName(const Type& t) {
  if (t.list) return "tuple[" + plainName(t) + ", ...]";
  return t.optional ? plainName(t) + " | None" : plainName(t);
}

void setReturns(const OperatorDef& op, PythonSignature& s) {
  std::vector<std::string> types;
  PythonNamedTuple named;
  for (const Argument& r : op.returns()) {
    types.push_back(returnName(r.type));
    if (!r.name.empty()) named.fields.push_back({r.name, types.back(), "", false, false});
  }
  if (types.empty()) {
    s.returns = "None";
  } else if (types.size() == 1) {
    s.returns = types[0];
  } else if (named.fields.size() == types.size()) {
    std::string base = op.name();
    named.name = s.returns = "_" + base + "_result";
    s.named = {named};
  } else {
    s.returns = "tuple[" + join(types, ", ") + "]";
  }
}

/// The out= form of a functional operator; null where it has none, or one that takes other results.
const OperatorDef* outFormOf(const Dictionary& dictionary, const OperatorDef& op) {
  for (const OperatorDef& other : dictionary.operators)
    if (other.form == Form::kOut && other.functional == &op) return &other;
  return nullptr;
}

void addOut(const OperatorDef& out, PythonSignature& s) {
  const auto count =
      std::count_if(out.arguments().begin(), out.arguments().end(), [](const Argument& a) { return a.is_out(); });
  std::vector<std::string> types(static_cast<size_t>(count), "Tensor");
  const std::string type = count == 1 ? "Tensor" : "tuple[" + join(types, ", ") + "]";
  s.parameters.push_back({"out", type + " | None", "None", true, false});
}

/// The place of the list that may be written as several arguments; npos where there is none.
size_t variadicOf(const PythonSignature& s, const OperatorDef& op, bool function) {
  size_t positional = 0;
  for (const PythonParameter& p : s.parameters) positional += p.keyword_only ? 0 : 1;
  if (positional != 1) return std::string::npos;
  const size_t at = function ? 0 : 1;
  const Type& t = op.arguments()[at].type;
  return t.isList(TypeKind::Int) && !t.optional ? 0 : std::string::npos;
}

std::vector<PythonSignature> signaturesOf(const Dictionary& dictionary, const OperatorDef& op, bool function) {
  PythonSignature s;
  for (const Argument& a : op.arguments()) {
    if (a.is_out() || (!function && a.name == "self")) continue;
    s.parameters.push_back(parameterOf(a, function));
    const auto& optional = op.python_optional;
    if (std::find(optional.begin(), optional.end(), a.name) != optional.end())
      s.parameters.back().default_value = "None";
  }
  if (op.hasTensorOptions() && !op.returns().empty() && !op.returns()[0].hasAlias())
    s.parameters.push_back({"requires_grad", "bool", "False", true, false});
  setReturns(op, s);
  const OperatorDef* out = function && op.form == Form::kFunctional ? outFormOf(dictionary, op) : nullptr;
  if (out != nullptr) addOut(*out, s);
  std::vector<PythonSignature> all = {s};
  if (variadicOf(s, op, function) == 0) {
    PythonParameter& list = all.emplace_back(s).parameters[0];
    list.variadic = true;
    list.type = "int";
    list.default_value.clear();
  }
  return all;
}

bool isPublic(const OperatorDef& op) {
  const std::string name = op.name();
  return !name.starts_with("_") && !name.ends_with("_backward") && name.find("_backward_") == std::string::npos;
}

PythonSignatures collect(const Dictionary& dictionary, bool function, const std::string& module) {
  PythonSignatures all;
  for (const OperatorDef& op : dictionary.operators) {
    if (op.form == Form::kOut || !(function ? op.function : op.method) || !isPublic(op)) continue;
    if (op.python_module != module) continue;
    std::vector<PythonSignature>& known = all[op.name()];
    for (PythonSignature& s : signaturesOf(dictionary, op, function))
      if (std::find(known.begin(), known.end(), s) == known.end()) known.push_back(std::move(s));
  }
  for (const PythonAlias& alias : dictionary.aliases)
    if (const auto found = all.find(alias.of); found != all.end()) all[alias.name] = found->second;
  return all;
}

/// Parameters with `*` before the keyword-only ones.
std::vector<std::string> withStar(const PythonSignature& s, const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  bool starred = false;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (s.parameters[i].variadic) starred = true;
    if (s.parameters[i].keyword_only && !starred) {
      parts.push_back("*");
      starred = true;
    }
    parts.push_back(texts[i]);
  }
  return parts;
}

}  // namespace

bool isPythonWord(const std::string& name) {
  static const std::set<std::string> kWords = {"and", "del", "from", "in", "is", "lambda", "not", "or", "pass"};
  return kWords.contains(name);
}

PythonSignatures pythonFunctions(const Dictionary& dictionary, const std::string& module) {
  return collect(dictionary, true, module);
}
PythonSignatures pythonMethods(const Dictionary& dictionary) { return collect(dictionary, false, ""); }

std::string pythonCall(const std::string& name, const PythonSignature& signature) {
  std::vector<std::string> texts;
  for (const PythonParameter& p : signature.parameters)
    texts.push_back((p.variadic ? "*" : "") + p.name + (p.default_value.empty() ? "" : "=" + p.default_value));
  const std::string returns = signature.named.empty() ? signature.returns : [&] {
    std::vector<std::string> fields;
    for (const PythonParameter& f : signature.named[0].fields) fields.push_back(f.name);
    return "(" + join(fields, ", ") + ")";
  }();
  return fmt::format("{}({}) -> {}", name, join(withStar(signature, texts), ", "), returns);
}

std::string pythonParameters(const PythonSignature& signature) {
  std::vector<std::string> texts;
  for (const PythonParameter& p : signature.parameters) {
    // Names of constants and lists mean nothing to who reads the stub.
    const bool plain = !p.default_value.empty() && p.default_value[0] != '(' &&
                       (p.default_value == "None" || p.default_value == "True" || p.default_value == "False" ||
                        std::string("-'0123456789").find(p.default_value[0]) != std::string::npos);
    // A word of Python's can be given by position only.
    texts.push_back((p.variadic ? "*" : "") + p.name + (isPythonWord(p.name) ? "_: " : ": ") + p.type +
                    (p.default_value.empty() ? "" : " = " + (plain ? p.default_value : "...")));
  }
  return join(withStar(signature, texts), ", ");
}

}  // namespace opgen
