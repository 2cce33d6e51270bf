// The formulas of gradients: finds what they use and turns it into what nodes save (derivatives.h).
#include "tools/opgen/model/derivatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace opgen {

using shunt::Argument;

namespace {

/// A property of a tensor that is kept instead of the tensor.
struct Property {
  const char* text;  // {} is the tensor, {1} an argument of the call
  const char* name;
  const char* type;
  bool of_list = false;
};

// Longer texts first where one begins another.
constexpr Property kProperties[] = {
    {"to_args_sizes({})", "{}_args_sizes", "std::vector<std::vector<int64_t>>", true},
    {"to_args_scalartypes({})", "{}_args_scalartypes", "std::vector<ScalarType>", true},
    {"TensorGeometry({})", "{}_geometry", "TensorGeometry"},
    {"{}.sizes()", "{}_sizes", "std::vector<int64_t>"},
    {"{}.strides()", "{}_strides", "std::vector<int64_t>"},
    {"{}.options()", "{}_options", "TensorOptions"},
    {"{}.scalar_type()", "{}_scalar_type", "ScalarType"},
    {"{}.dtype()", "{}_scalar_type", "ScalarType"},
    {"{}.device()", "{}_device", "Device"},
    {"{}.layout()", "{}_layout", "Layout"},
    {"{}.numel()", "{}_numel", "int64_t"},
    {"{}.dim()", "{}_dim", "int64_t"},
    {"{}.defined()", "{}_defined", "bool"},
    {"{}.is_floating_point()", "{}_is_floating_point", "bool"},
    {"{}.storage_offset()", "{}_storage_offset", "int64_t"},
    {"{}.suggest_memory_format()", "{}_suggested_format", "MemoryFormat"},
    {"{}.size()", "{}_list_size", "int64_t", true},
};

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// `text` at `at` as a whole word: not part of a longer name, not a member of something, not behind `::`.
bool standsAlone(const std::string& s, size_t at, size_t length) {
  if (at > 0 && (isWord(s[at - 1]) || s[at - 1] == '.' || s[at - 1] == ':')) return false;
  if (at > 1 && s[at - 1] == '>' && s[at - 2] == '-') return false;
  return at + length >= s.size() || !isWord(s[at + length]) || !isWord(s[at + length - 1]);
}

/// Replaces every occurrence that stands alone; whether there was one.
bool replaceAll(std::string& s, const std::string& what, const std::string& with) {
  bool found = false;
  for (size_t at = s.find(what); at != std::string::npos; at = s.find(what, at)) {
    if (!standsAlone(s, at, what.size())) {
      ++at;
      continue;
    }
    s.replace(at, what.size(), with);
    at += with.size();
    found = true;
  }
  return found;
}

/// A tensor that a formula may name.
struct Named {
  std::string name;
  const Argument* argument;  // its type; of a return for results
  bool is_output;
};

class Rewriter {
 public:
  Rewriter(size_t number, Derivative& derivative) : number_(number), derivative_(derivative) {
    const OperatorDef& op = *derivative.op;
    for (const Argument& a : op.arguments()) values_.push_back({a.name, &a, false});
    for (size_t i = 0; i < op.returns().size(); ++i) values_.push_back({resultName(op, i), &op.returns()[i], true});
  }

  std::string run(std::string text) {
    for (const Named& v : values_)
      if (isTensor(*v.argument)) replaceProperties(text, v);
    for (const Named& v : values_)
      if (mentions(text, v.name)) save(whole(v));
    return text;
  }

 private:
  void replaceProperties(std::string& text, const Named& v) {
    for (const Property& p : kProperties) {
      if (p.of_list != isTensorList(*v.argument)) continue;
      const std::string name = fmt::format(fmt::runtime(p.name), v.name);
      const std::string expression = fmt::format(fmt::runtime(p.text), v.name);
      if (replaceAll(text, expression, name)) save(property(v, name, expression, p.type));
    }
    replaceSizeCalls(text, v);
  }

  /// self.size(dim) and self.size(-1): one value for each argument text.
  void replaceSizeCalls(std::string& text, const Named& v) {
    const std::string call = v.name + ".size(";
    for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      const size_t close = text.find(')', at);
      if (!standsAlone(text, at, call.size()) || close == std::string::npos) continue;
      const std::string argument = text.substr(at + call.size(), close - at - call.size());
      std::string suffix = argument;
      std::replace(suffix.begin(), suffix.end(), '-', 'm');
      if (!std::all_of(suffix.begin(), suffix.end(), isWord))
        fail(derivative_.formulas[number_].place,
             "size() of " + v.name + " needs a number or an argument's name, got '" + argument + "'");
      const std::string name = v.name + "_argsize_" + suffix;
      const std::string expression = text.substr(at, close + 1 - at);
      text.replace(at, close + 1 - at, name);
      save(property(v, name, expression, "int64_t"));
    }
  }

  static bool mentions(const std::string& text, const std::string& name) {
    std::string copy = text;
    return replaceAll(copy, name, name);
  }

  static SavedValue property(const Named& v, const std::string& name, const std::string& expression, const char* type) {
    SavedValue s;
    s.name = name;
    s.expression = expression;
    s.property_type = type;
    s.is_output = v.is_output;
    return s;
  }

  static SavedValue whole(const Named& v) {
    SavedValue s;
    s.name = s.expression = v.name;
    s.is_output = v.is_output;
    s.is_output_list = v.is_output && isTensorList(*v.argument);
    s.argument = v.is_output ? nullptr : v.argument;
    s.of_self = !v.is_output && v.name == "self" && isTensor(*v.argument);
    return s;
  }

  void save(SavedValue value) {
    auto& all = derivative_.saved;
    const auto it = std::find_if(all.begin(), all.end(), [&](const SavedValue& s) { return s.name == value.name; });
    SavedValue& s = it != all.end() ? *it : all.emplace_back(std::move(value));
    if (s.used_by.empty() || s.used_by.back() != number_) s.used_by.push_back(number_);
  }

  size_t number_;
  Derivative& derivative_;
  std::vector<Named> values_;
};

}  // namespace

std::string resultName(const OperatorDef& op, size_t i) {
  if (!op.returns()[i].name.empty()) return op.returns()[i].name;
  return op.returns().size() == 1 ? "result" : "result" + std::to_string(i);
}

std::string rewriteFormula(const std::string& expression, size_t number, Derivative& derivative) {
  return Rewriter(number, derivative).run(expression);
}

}  // namespace opgen
