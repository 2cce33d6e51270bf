#include "src/compile/checks/first_difference.h"

#include <shunt/core/error.h>
#include <shunt/tensor/bfloat16.h>
#include <shunt/tensor/half.h>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <vector>

namespace shunt::compiled {
namespace {

/// Calls f(index, offset in elements) in row-major order until it says false.
template <class F>
void forElements(const Tensor& t, F&& f) {
  const IntArrayRef sizes = t.sizes(), strides = t.strides();
  std::vector<int64_t> index(sizes.size());
  int64_t offset = 0;
  for (int64_t left = t.numel(); left > 0; --left) {
    if (!f(index, offset)) return;
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

/// The bytes of an element at most 8 bytes long.
uint64_t bitsAt(const Tensor& t, int64_t offset) {
  uint64_t bits = 0;
  const auto size = static_cast<size_t>(elementSize(t.dtype()));
  std::memcpy(&bits, t.unsafeGetTensorImpl()->data() + offset * static_cast<int64_t>(size), size);
  return bits;
}

/// The bits of infinity, above which all are NaNs; 0 of what is no floating type.
uint64_t infinityOf(ScalarType dtype) {
  switch (dtype) {
    case kFloat:
      return 0x7f800000;
    case kDouble:
      return 0x7ff0000000000000;
    case kHalf:
      return 0x7c00;
    case kBFloat16:
      return 0x7f80;
    default:
      return 0;
  }
}

bool isNaN(uint64_t bits, ScalarType dtype) {
  const uint64_t infinity = infinityOf(dtype);
  const uint64_t sign = uint64_t{1} << (8 * elementSize(dtype) - 1);
  return infinity != 0 && (bits & ~sign) > infinity;
}

std::string textOf(uint64_t bits, ScalarType dtype) {
  switch (dtype) {
    case kFloat:
      return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case kDouble:
      return fmt::format("{}", std::bit_cast<double>(bits));
    case kHalf:
      return fmt::format("{}", static_cast<float>(std::bit_cast<Half>(static_cast<uint16_t>(bits))));
    case kBFloat16:
      return fmt::format("{}", static_cast<float>(std::bit_cast<BFloat16>(static_cast<uint16_t>(bits))));
    default:
      return fmt::format("{:#x}", bits);
  }
}

/// Of dimensions in which there are several elements.
bool areStridesEqual(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; a.numel() > 0 && d < a.dim(); ++d)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

/// What most are: whole, and equal but for no NaN.
bool haveSameBytes(const Tensor& a, const Tensor& b) {
  if (!a.is_contiguous() || !b.is_contiguous()) return false;
  const auto bytes = static_cast<size_t>(a.numel() * elementSize(a.dtype()));
  return bytes == 0 || std::memcmp(a.unsafeGetTensorImpl()->data(), b.unsafeGetTensorImpl()->data(), bytes) == 0;
}

}  // namespace

std::string firstDifference(const Tensor& got, const Tensor& expected) {
  using detail::str;
  if (!got.defined() || !expected.defined()) {
    if (got.defined() == expected.defined()) return "";
    return got.defined() ? "there is one, expected none" : "there is none, expected one";
  }
  if (got.dtype() != expected.dtype()) return str("its dtype is ", got.dtype(), ", expected ", expected.dtype());
  if (!got.sizes().equals(expected.sizes())) return str("its sizes are ", got.sizes(), ", expected ", expected.sizes());
  const ScalarType dtype = got.dtype();
  if (haveSameBytes(got, expected)) return "";
  const bool lie_alike = areStridesEqual(got, expected);
  std::vector<uint64_t> bits;  // of what is expected, in order
  bits.reserve(static_cast<size_t>(expected.numel()));
  forElements(expected, [&](const auto&, int64_t offset) { return bits.push_back(bitsAt(expected, offset)), true; });
  std::string text;
  size_t next = 0;
  forElements(got, [&](const std::vector<int64_t>& index, int64_t offset) {
    const uint64_t its = bitsAt(got, offset), wanted = bits[next++];
    if (its == wanted || (isNaN(its, dtype) && isNaN(wanted, dtype))) return true;
    text = str("element ", IntArrayRef(index), " is ", textOf(its, dtype), ", expected ", textOf(wanted, dtype));
    return false;
  });
  if (text.empty() && !lie_alike) return str("its strides are ", got.strides(), ", expected ", expected.strides());
  return text;
}

uint64_t hashOfElements(const Tensor& t) {
  uint64_t hash = static_cast<uint64_t>(t.dtype());
  const auto add = [&](uint64_t word) {
    hash = (std::rotl(hash, 5) ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  };
  for (const int64_t n : t.sizes()) add(static_cast<uint64_t>(n));
  for (const int64_t n : t.strides()) add(static_cast<uint64_t>(n));
  forElements(t, [&](const auto&, int64_t offset) { return add(bitsAt(t, offset)), true; });
  return hash;
}

}  // namespace shunt::compiled
