#include "tools/shunt/argument.h"

#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

#include <shunt/core/by_name.h>
#include <shunt/core/near_names.h>
#include <shunt/shunt.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

namespace shunt::cli {
namespace {

[[noreturn]] void fail(const std::string& text, const std::string& why) {
  throw Mistake("argument " + shownValue(text) + ": " + why + R"(
An argument is one of
  float32[2,3]           a tensor of ones: dtype and sizes; after a colon and with commas between: grad, strided, meta
  [float32[2],int64[3]]  a list of tensors
  3  2.5  true  none     a number, a bool, nothing
  [1,2]  [0.5]  [true]   a list of them
  float32  cpu  'text'   a dtype, a device, a string
with its name and = before it or not: alpha=2)");
}

std::optional<ScalarType> dtypeOf(std::string_view name) {
  const std::vector<std::string> known = detail::dtypeNames();
  return std::ranges::count(known, name) != 0 ? std::optional(dtypeNamed(name)) : std::nullopt;
}

/// "; did you mean 'float32'?", or nothing.
std::string nearWords(std::string_view word) {
  std::vector<std::string> known = detail::dtypeNames();
  known.insert(known.end(), {"cpu", "meta", "true", "false", "none"});
  return detail::didYouMean(word, known);
}

/// At commas outside of brackets.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0)
      parts.push_back(std::exchange(part, ""));
    else
      part += c;
  }
  if (!part.empty() || !parts.empty()) parts.push_back(part);
  return parts;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What a text says of a tensor.
struct Described {
  ScalarType dtype;
  std::vector<int64_t> sizes;
  bool grad = false, strided = false, meta = false;
};

Tensor withoutElements(const std::vector<int64_t>& sizes, ScalarType dtype) {
  alignas(64) static std::byte place[64];  // an address only
  return from_blob(place, sizes, TensorOptions(dtype));
}

Tensor make(const Described& d, Elements elements) {
  std::vector<int64_t> sizes = d.sizes;
  if (d.strided) {  // every second element of one twice as long
    SHUNT_CHECK(!sizes.empty(), "a tensor without dimensions can't be strided");
    SHUNT_CHECK(!__builtin_mul_overflow(sizes.back(), 2, &sizes.back()), "it is too large");
  }
  Tensor t = elements == Elements::kNone && !d.meta ? withoutElements(sizes, d.dtype)
                                                    : ones(sizes, TensorOptions(d.dtype).device(d.meta ? kMeta : kCPU));
  if (d.strided) t = t.slice(-1, 0, sizes.back(), 2);
  return d.grad ? t.requires_grad_() : t;
}

/// What is wrong with the description is found without memory for it.
Tensor makeChecked(const Described& d, Elements elements, const std::string& text) {
  try {
    Tensor t = make(d, Elements::kNone);
    if (elements == Elements::kNone) return t;
  } catch (const Error& e) {
    std::string why = e.what();
    for (const char* who : {"from_blob: ", "ones: "})  // which the user didn't call
      if (why.starts_with(who)) why.erase(0, std::string_view(who).size());
    fail(text, why);
  }
  return make(d, elements);
}

std::optional<IValue> tensor(const std::string& text, Elements elements) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || open == 0 || close == std::string::npos || close < open) return std::nullopt;
  const auto dtype = dtypeOf(std::string_view(text).substr(0, open));
  if (!dtype) fail(text, "'" + text.substr(0, open) + "' is no dtype" + nearWords(text.substr(0, open)));
  Described d{.dtype = *dtype, .sizes = {}};
  for (const std::string& part : split(std::string_view(text).substr(open + 1, close - open - 1))) {
    const auto size = number<int64_t>(part);
    if (!size || *size < 0) fail(text, "'" + part + "' is not a size");
    d.sizes.push_back(*size);
  }
  const std::string_view rest = std::string_view(text).substr(close + 1);
  if (!rest.empty() && rest.front() != ':') fail(text, "what follows the sizes begins with a colon");
  for (const std::string& part : rest.empty() ? std::vector<std::string>() : split(rest.substr(1)))
    if (part == "grad")
      d.grad = true;
    else if (part == "strided")
      d.strided = true;
    else if (part == "meta")
      d.meta = true;
    else
      fail(text,
           "'" + part + "' is none of grad, strided, meta" + detail::didYouMean(part, {"grad", "strided", "meta"}));
  return makeChecked(d, elements, text);
}

IValue list(const std::string& text, Elements elements) {
  std::vector<IValue> values;
  for (const std::string& part : split(std::string_view(text).substr(1, text.size() - 2)))
    values.push_back(parseArgument(part, elements));
  const auto all = [&](bool (IValue::*is)() const) {
    return std::all_of(values.begin(), values.end(), [&](const IValue& v) { return (v.*is)(); });
  };
  if (all(&IValue::isInt)) {
    std::vector<int64_t> out;
    for (const IValue& v : values) out.push_back(v.toInt());
    return out;
  }
  if (all(&IValue::isBool)) {
    std::vector<char> out;
    for (const IValue& v : values) out.push_back(v.toBool());
    return out;
  }
  if (all(&IValue::isScalar)) {
    std::vector<double> out;
    for (const IValue& v : values) out.push_back(v.toDouble());
    return out;
  }
  if (!all(&IValue::isTensor)) fail(text, "a list holds numbers only, bools only or tensors only");
  std::vector<Tensor> out;
  for (const IValue& v : values) out.push_back(v.toTensor());
  return out;
}

}  // namespace

IValue parseArgument(const std::string& text, Elements elements) {
  if (text.empty()) fail(text, "it is empty");
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') return text.substr(1, text.size() - 2);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') return list(text, elements);
  if (text == "none" || text == "None") return {};
  if (text == "true" || text == "false") return text == "true";
  if (const auto n = number<int64_t>(text)) return *n;
  if (const auto x = number<double>(text)) return *x;
  if (const auto dtype = dtypeOf(text)) return *dtype;
  if (auto t = tensor(text, elements)) return std::move(*t);
  if (text == "cpu" || text == "meta") return Device(text);
  fail(text, "not understood" + nearWords(text));
}

std::pair<std::string, IValue> parseNamed(const std::string& text, Elements elements) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || text.front() == '\'') return {"", parseArgument(text, elements)};
  if (equals == 0) fail(text, "there is no name before =");
  return {text.substr(0, equals), parseArgument(text.substr(equals + 1), elements)};
}

}  // namespace shunt::cli
