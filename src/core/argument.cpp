#include <shunt/core/argument.h>
#include <shunt/core/error.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string_view>

namespace shunt {
namespace {

void normalizeSets(std::vector<std::string>& sets) {
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  if (std::find(sets.begin(), sets.end(), "*") != sets.end()) sets.assign(1, "*");
}

void printSets(std::ostream& out, const std::vector<std::string>& sets) {
  for (size_t i = 0; i < sets.size(); ++i) out << (i ? "|" : "") << sets[i];
}

/// As Python's repr: the shortest digits that read back, in scientific form outside of [1e-4, 1e16).
std::string doubleText(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(v);
  const bool scientific = v != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v,
                                 scientific ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

struct ValuePrinter {
  std::ostream& out;
  void operator()(DefaultValue::None) const { out << "None"; }
  void operator()(bool v) const { out << (v ? "True" : "False"); }
  void operator()(int64_t v) const { out << std::to_string(v); }  // not subject to the stream's locale
  void operator()(double v) const { out << doubleText(v); }
  void operator()(const std::string& v) const { out << quoted(v); }
  void operator()(const EnumConstant& v) const { out << v.name; }
  void operator()(const DefaultValue::List& list) const {
    out << '[';
    for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
    out << ']';
  }
};

[[noreturn]] void throwWrongKind(const DefaultValue& value, const char* wanted) {
  throw Error(detail::str("the default value ", value, " is not ", wanted));
}

/// `int[2] stride=1` is printed as it is usually written, by its one repeated value.
bool isRepeatedValue(const Type& type, const DefaultValue& value) {
  if (!type.list || type.kind == TypeKind::List || !type.fixed_size || !value.isList()) return false;
  const auto& list = value.toList();
  return !list.empty() && static_cast<int64_t>(list.size()) == *type.fixed_size && !list.front().isNone() &&
         std::all_of(list.begin(), list.end(), [&](const DefaultValue& v) { return v == list.front(); });
}

void printDefault(std::ostream& out, const Type& type, const DefaultValue& value) {
  if (isRepeatedValue(type, value)) {
    out << value.toList().front();
  } else {
    out << value;
  }
}

void printAnnotatedType(std::ostream& out, const Argument& argument) {
  const Type& type = argument.type;
  out << type.kindName();
  if (argument.alias) out << *argument.alias;
  if (type.list) {
    if (type.element_optional) out << '?';
    out << '[';
    if (type.fixed_size) out << std::to_string(*type.fixed_size);
    out << ']';
    if (argument.container_alias) out << *argument.container_alias;
  }
  if (type.optional) out << '?';
}

}  // namespace

AliasInfo::AliasInfo(std::vector<std::string> before, std::vector<std::string> after, bool write)
    : before_sets(std::move(before)), after_sets(std::move(after)), is_write(write) {
  normalizeSets(before_sets);
  normalizeSets(after_sets);
}

std::ostream& operator<<(std::ostream& out, const AliasInfo& alias) {
  out << '(';
  printSets(out, alias.before_sets);
  if (alias.is_write) out << '!';
  if (alias.after_sets != alias.before_sets) {
    out << " -> ";
    printSets(out, alias.after_sets);
  }
  return out << ')';
}

bool DefaultValue::toBool() const {
  if (const auto* v = std::get_if<bool>(&value)) return *v;
  throwWrongKind(*this, "a bool");
}

int64_t DefaultValue::toInt() const {
  if (const auto* v = std::get_if<int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<EnumConstant>(&value)) return v->value;
  throwWrongKind(*this, "an int");
}

double DefaultValue::toDouble() const {
  if (const auto* v = std::get_if<double>(&value)) return *v;
  if (isInt()) return static_cast<double>(toInt());
  throwWrongKind(*this, "a float");
}

const std::string& DefaultValue::toStringRef() const {
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  throwWrongKind(*this, "a string");
}

const DefaultValue::List& DefaultValue::toList() const {
  if (const auto* v = std::get_if<List>(&value)) return *v;
  throwWrongKind(*this, "a list");
}

std::vector<int64_t> DefaultValue::toIntVector() const {
  std::vector<int64_t> out;
  for (const DefaultValue& v : toList()) out.push_back(v.toInt());
  return out;
}

std::vector<double> DefaultValue::toDoubleVector() const {
  std::vector<double> out;
  for (const DefaultValue& v : toList()) out.push_back(v.toDouble());
  return out;
}

std::vector<bool> DefaultValue::toBoolVector() const {
  std::vector<bool> out;
  for (const DefaultValue& v : toList()) out.push_back(v.toBool());
  return out;
}

bool DefaultValue::operator==(const DefaultValue& other) const {
  if (isDouble() && other.isDouble()) {
    const double a = std::get<double>(value);
    const double b = std::get<double>(other.value);
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  }
  return value == other.value;
}

std::ostream& operator<<(std::ostream& out, const DefaultValue& value) {
  std::visit(ValuePrinter{out}, value.value);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Argument& argument) {
  printAnnotatedType(out, argument);
  if (!argument.name.empty()) out << ' ' << argument.name;
  if (argument.default_value) {
    out << '=';
    printDefault(out, argument.type, *argument.default_value);
  }
  return out;
}

}  // namespace shunt
