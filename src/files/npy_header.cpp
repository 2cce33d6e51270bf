#include "src/files/npy_header.h"

#include "src/files/bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace shunt::files {
namespace {

constexpr std::array<std::pair<ScalarType, std::string_view>, 9> kDtypes = {{{kBool, "b1"},
                                                                             {kByte, "u1"},
                                                                             {kChar, "i1"},
                                                                             {kShort, "i2"},
                                                                             {kInt, "i4"},
                                                                             {kLong, "i8"},
                                                                             {kHalf, "f2"},
                                                                             {kFloat, "f4"},
                                                                             {kDouble, "f8"}}};

std::string_view npyName(ScalarType dtype) {
  const auto* const at = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.first == dtype; });
  return at == kDtypes.end() ? std::string_view() : at->second;
}

/// Why there is no such dtype here, after "has dtype '<c8', ".
std::string_view adviceFor(std::string_view kind) {
  if (kind.starts_with('O')) return "Python objects, which only Python reads";
  if (kind.starts_with('c')) return "and there are no complex numbers in Shunt";
  if (kind == "V2") return "raw bytes: if they are bfloat16, save them as .safetensors";
  return "and Shunt reads bool, uint8, int8 to int64 and float16 to float64";
}

/// The dict's text, token by token. Python has other ways to write the same; NumPy and its kin write this one.
class Parser {
 public:
  Parser(const AboutTensor& about, std::string_view text) : about_(about), text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!takes('}')) {
      const std::string_view key = string();
      expect(':');
      value(key);
      if (!takes(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at_ != text_.size()) wrong("the end");
    constexpr std::array<const char*, 3> kKeys = {"descr", "fortran_order", "shape"};
    for (size_t i = 0; i < kKeys.size(); ++i)
      if (!has_[i]) about_.fail("the header has no ", kKeys[i]);
    return header_;
  }

 private:
  void value(std::string_view key) {
    const size_t i = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
    if (i == 3) about_.fail("the header has an unknown key ", shown(key));
    if (std::exchange(has_[i], true)) about_.fail("the header has ", key, " twice");
    if (i == 0)
      descr();
    else if (i == 1)
      header_.fortran_order = boolean();
    else
      shape();
  }

  void descr() {
    skipSpace();
    if (at_ < text_.size() && text_[at_] == '[')
      about_.fail("has a structured dtype, and a tensor's elements are numbers; save its fields one by one");
    const std::string_view text = string();
    const bool has_order = !text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos;
    const std::string_view name = text.substr(has_order ? 1 : 0);
    const auto* const found =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.second == name; });
    if (found == kDtypes.end()) about_.fail("has dtype ", shown(text, 40), ", ", adviceFor(name));
    header_.dtype = found->first;
    header_.big_endian = has_order && text[0] == '>';
  }

  void shape() {
    expect('(');
    bool comma = true;
    while (!takes(')')) {
      if (!comma) wrong("',' or ')'");
      if (header_.sizes.size() == kMostDimensions) about_.fail("has more than ", kMostDimensions, " dimensions");
      header_.sizes.push_back(number());
      comma = takes(',');
    }
    if (header_.sizes.size() == 1 && !comma) wrong("',' after the only dimension");
  }

  int64_t number() {
    skipSpace();
    int64_t out = 0;
    const char* const end = text_.data() + text_.size();
    const auto [next, error] = std::from_chars(text_.data() + at_, end, out);
    if (error == std::errc::result_out_of_range) about_.fail("has a dimension that 63 bits can't count");
    if (error != std::errc()) wrong("a dimension");
    at_ = static_cast<size_t>(next - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return out;
  }

  bool boolean() {
    skipSpace();
    for (const bool b : {false, true}) {
      const std::string_view word = b ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return b;
    }
    wrong("True or False");
  }

  std::string_view string() {
    skipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') wrong("a text in quotes");
    const size_t begin = at_ + 1, end = text_.find(quote, begin);
    if (end == std::string_view::npos) wrong("a text that ends");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool takes(char c) {
    skipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!takes(c)) wrong(std::string{'\'', c, '\''});
  }
  [[noreturn]] void wrong(std::string_view expected) {
    about_.fail("the header: expected ", expected, " at its byte ", at_, ", found ",
                at_ == text_.size() ? "its end" : shown(text_.substr(at_), 20));
  }

  const AboutTensor& about_;
  std::string_view text_;
  size_t at_ = 0;
  NpyHeader header_;
  std::array<bool, 3> has_{};
};

}  // namespace

void checkNpyDtype(const AboutTensor& about, ScalarType dtype) {
  if (npyName(dtype).empty())
    about.fail("has dtype ", dtypeName(dtype),
               ", which NumPy doesn't have; save it as .safetensors, or as float32, which has all "
               "of its numbers: t.to(shunt::kFloat)");
}

std::string npyPrefix(IntArrayRef sizes, ScalarType dtype) {
  std::string shape;
  for (const int64_t s : sizes) shape.append(shape.empty() ? "" : ", ").append(std::to_string(s));
  if (sizes.size() == 1) shape += ',';
  std::string text = "{'descr': '" + std::string(elementSize(dtype) == 1 ? "|" : "<") + std::string(npyName(dtype)) +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t kBefore = 10, kAlignment = 64;
  text.resize((kBefore + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore - 1, ' ');
  text += '\n';
  std::string out(kNpyMagic);
  out += '\1';
  out += '\0';
  append(out, static_cast<uint16_t>(text.size()));
  return out + text;
}

NpyHeader parseNpyDict(const AboutTensor& about, std::string_view text) { return Parser(about, text).parse(); }

}  // namespace shunt::files
