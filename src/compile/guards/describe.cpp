// What a guard compares, as text.
#include "src/base/counted.h"
#include "src/compile/guards/guard.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

namespace shunt::compiled {
namespace {

using detail::counted;
using detail::str;
using Ints = InlineVector<int64_t, 4>;

IntArrayRef refOf(const Ints& v) { return {v.data(), v.size()}; }

bool isSame(const Ints& a, const Ints& b) { return std::ranges::equal(a, b); }

/// Whether the strides follow from the sizes, so that a text can leave them out.
bool isInOrder(const TensorKind& kind) {
  if (std::ranges::find(kind.sizes, 0) != kind.sizes.end()) return true;
  int64_t expected = 1;
  for (size_t i = kind.sizes.size(); i-- > 0;) {
    if (kind.sizes[i] != 1 && kind.strides[i] != expected) return false;
    expected *= kind.sizes[i];
  }
  return true;
}

std::string textOfSizes(const TensorKind& kind) {
  return str(refOf(kind.sizes), isInOrder(kind) ? "" : str(" (strides ", refOf(kind.strides), ')'));
}

/// A guard has the bits of a number, and not its type. The bits of a double are a huge integer, unless it is 0.
std::string textOfNumber(uint64_t bits) {
  constexpr int64_t kIntegersEnd = int64_t{1} << 48;
  const auto integer = static_cast<int64_t>(bits);
  if (-kIntegersEnd < integer && integer < kIntegersEnd) return str(integer);
  char text[32];
  const std::to_chars_result end = std::to_chars(std::begin(text), std::end(text), std::bit_cast<double>(bits));
  return {std::begin(text), end.ptr};
}

/// ", numbers 2, 0.5"; empty if there are none.
std::string textOfNumbers(std::string_view noun, std::span<const uint64_t> numbers) {
  constexpr size_t kMostShown = 8;
  std::string text;
  for (const uint64_t n : numbers.first(std::min(numbers.size(), kMostShown)))
    text += (text.empty() ? str(", ", noun, numbers.size() == 1 ? " " : "s ") : ", ") + textOfNumber(n);
  return numbers.size() > kMostShown ? text + ", ..." : text;
}

/// As TensorKind::difference, and with its words.
const char* differenceOfKinds(const TensorKind& a, const TensorKind& b) {
  if (a.defined != b.defined) return "being defined";
  if (a.dtype != b.dtype) return "dtype";
  if (!isSame(a.sizes, b.sizes)) return "sizes";
  if (!isSame(a.strides, b.strides)) return "strides";
  if (a.keys != b.keys || a.device != b.device) return "keys";
  if (a.wrapped_number != b.wrapped_number) return "number";
  if (a.requires_grad != b.requires_grad || a.is_leaf != b.is_leaf) return "gradient";
  if ((a.grad != nullptr) != (b.grad != nullptr)) return "having a grad";
  return a.grad != nullptr ? differenceOfKinds(*a.grad, *b.grad) : nullptr;
}

}  // namespace

std::string Guard::nameOfTensor(size_t i) const {
  const size_t arguments = tensors_.size() - captured_.size();
  return i < arguments ? str("tensor ", i, " of the arguments") : str("captured tensor ", i - arguments);
}

std::string Guard::describe() const {
  std::string text = "for";
  for (size_t i = 0; i < tensors_.size() - captured_.size(); ++i) {
    const TensorKind& kind = tensors_[i];
    text += kind.defined ? str(' ', kind.dtype, textOfSizes(kind), kind.requires_grad ? ":grad" : "") : " undefined";
    if (kind.same != i)
      text += str(" (tensor ", kind.same, " again)");
    else if (kind.home != i)
      text += str(" (in the memory of tensor ", kind.home, ')');
  }
  text += textOfNumbers("number", numbers_) + textOfNumbers("scalar", scalars_);
  text += str(", ", counted(captured_.size(), "captured tensor"), ", grad mode ", modes_.grad ? "on" : "off");
  if (modes_.inference) text += ", inference mode";
  for (const auto& [device, dtype] : modes_.autocast) text += str(", autocast ", device, " to ", dtype);
  return text;
}

std::string Guard::describeSizes() const {
  std::string text;
  for (size_t i = 0; i < tensors_.size() - captured_.size(); ++i)
    if (tensors_[i].defined) text += (text.empty() ? "" : " ") + textOfSizes(tensors_[i]);
  return text;
}

/// As differenceOfCall, with the values.
std::string Guard::differenceOfCallFrom(const Guard& other) const {
  if (*types_ != *other.types_) return "types";
  if (numbers_.size() != other.numbers_.size()) return "numbers";
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i] != other.numbers_[i])
      return str("number ", i, " of the arguments: ", textOfNumber(numbers_[i]), " and ",
                 textOfNumber(other.numbers_[i]));
  for (size_t i = 0; i < scalars_.size(); ++i)
    if (scalars_[i] != other.scalars_[i])
      return str("CompileOptions::scalars[", i, "]: ", textOfNumber(scalars_[i]), " and ",
                 textOfNumber(other.scalars_[i]));
  for (size_t i = 0; i < options_.captures.size(); ++i)
    if (!captured_[i].is_same(other.captured_[i])) return str("the tensor in CompileOptions::captures[", i, ']');
  return default_dtype_ != other.default_dtype_ ? str("default dtype: ", default_dtype_, " and ", other.default_dtype_)
                                                : "";
}

const char* Guard::differenceOfTensorFrom(const Guard& other, size_t i) const {
  const TensorKind &mine = tensors_[i], &its = other.tensors_[i];
  if (const char* what = differenceOfKinds(mine, its)) return what;
  const size_t arguments = tensors_.size() - captured_.size();
  if (i >= arguments && !captured_[i - arguments].is_same(other.captured_[i - arguments]))
    return "being another tensor";
  if (i >= arguments && mine.storage != its.storage) return "storage";
  if (mine.home != its.home) return "sharing memory";
  if (mine.same != its.same) return "being another argument";
  return (offsets_ || other.offsets_) && mine.offset != its.offset ? "offset" : nullptr;
}

std::string Guard::differenceFrom(const Guard& other) const {
  if (std::string found = differenceOfCallFrom(other); !found.empty()) return found;
  const size_t arguments = tensors_.size() - captured_.size();
  if (arguments != other.tensors_.size() - other.captured_.size()) return "types";
  for (size_t i = 0; i < std::min(tensors_.size(), other.tensors_.size()); ++i)
    if (const char* what = differenceOfTensorFrom(other, i)) return str(nameOfTensor(i), ": ", what);
  if (tensors_.size() != other.tensors_.size()) return "captured tensors";
  return modes_ == other.modes_ ? "" : "grad mode, inference mode or autocast";
}

}  // namespace shunt::compiled
