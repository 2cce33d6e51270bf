// How two tensors differ: what every test that compares to the bit asks, through same_bits.h or, without GoogleTest,
// here. It reads memory itself, calls no operator, and so changes no counter and runs under any mode. Any thread.
#pragma once

#include <shunt/shunt.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace shunt::test {

/// What is compared beside definedness, dtype, device, sizes and bits.
struct Compared {
  bool strides = true;
  bool requires_grad = false;
};

inline constexpr Compared kButStrides{.strides = false};

namespace differing {

/// The element as a number: for floating-point dtypes to find NaN, for all of them to show it.
inline double valueAt(ScalarType dtype, const char* element) {
  const auto as = [element]<class T>(T value) {
    std::memcpy(&value, element, sizeof value);
    return static_cast<double>(value);
  };
  switch (dtype) {
    case kDouble:
      return as(double());
    case kFloat:
      return as(float());
    case kHalf:
      return static_cast<double>(as(Half()));
    case kBFloat16:
      return static_cast<double>(as(BFloat16()));
    case kLong:
      return as(int64_t());
    case kInt:
      return as(int32_t());
    case kShort:
      return as(int16_t());
    case kChar:
      return as(int8_t());
    default:
      return as(uint8_t());
  }
}

/// NaN is NaN, whatever its sign and payload, which no one promises.
inline bool isSame(ScalarType dtype, const char* a, const char* b, size_t size) {
  return std::memcmp(a, b, size) == 0 ||
         (isFloatingType(dtype) && std::isnan(valueAt(dtype, a)) && std::isnan(valueAt(dtype, b)));
}

/// Calls `visit(index, a's element, b's element)` in the order of indices.
template <class Visit>
void visitPairs(const Tensor& a, const Tensor& b, Visit visit) {
  std::vector<int64_t> index(static_cast<size_t>(a.dim()), 0);
  const char *x = static_cast<const char*>(a.data_ptr()), *y = static_cast<const char*>(b.data_ptr());
  const auto item = static_cast<int64_t>(a.itemsize());
  for (int64_t left = a.numel(); left > 0; --left) {
    visit(index, x, y);
    for (int64_t d = a.dim() - 1; d >= 0; --d) {
      int64_t& i = index[static_cast<size_t>(d)];
      const int64_t steps = ++i < a.size(d) ? 1 : 1 - a.size(d);
      if (steps != 1) i = 0;
      x += steps * a.stride(d) * item;
      y += steps * b.stride(d) * item;
      if (i != 0) break;
    }
  }
}

inline std::string ofElements(const Tensor& expected, const Tensor& actual) {
  const bool whole = expected.is_contiguous() && actual.is_contiguous();
  if (expected.numel() == 0 || (whole && std::memcmp(expected.data_ptr(), actual.data_ptr(), expected.nbytes()) == 0))
    return {};
  std::string first;
  int64_t different = 0;
  const ScalarType dtype = expected.scalar_type();
  visitPairs(expected, actual, [&](const std::vector<int64_t>& index, const char* x, const char* y) {
    if (!isSame(dtype, x, y, static_cast<size_t>(expected.itemsize())) && different++ == 0)
      first = detail::str("element ", IntArrayRef(index), " is ", valueAt(dtype, y), ", expected ", valueAt(dtype, x));
  });
  return different == 0 ? "" : detail::str(first, ", and ", different - 1, " more of ", expected.numel(), " differ");
}

}  // namespace differing

/// In what `actual` differs from `expected`; empty where it doesn't. Of tensors without elements in reach (meta) their
/// metadata is all that is compared.
inline std::string differenceOf(const Tensor& expected, const Tensor& actual, Compared also = {}) {
  using detail::str;
  if (expected.defined() != actual.defined())
    return actual.defined() ? "a tensor, expected none" : "no tensor, expected one";
  if (!expected.defined()) return {};
  if (expected.dtype() != actual.dtype()) return str("dtype ", actual.dtype(), ", expected ", expected.dtype());
  if (expected.device() != actual.device()) return str("device ", actual.device(), ", expected ", expected.device());
  if (expected.sizes() != actual.sizes()) return str("sizes ", actual.sizes(), ", expected ", expected.sizes());
  if (also.strides && expected.strides() != actual.strides())
    return str("strides ", actual.strides(), ", expected ", expected.strides());
  if (also.requires_grad && expected.requires_grad() != actual.requires_grad())
    return actual.requires_grad() ? "requires grad, expected not to" : "doesn't require grad, expected to";
  return expected.device().is_cpu() ? differing::ofElements(expected, actual) : "";
}

/// The same of lists, whose lengths have to be equal, too.
inline std::string differenceOf(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual,
                                Compared also = {}) {
  if (expected.size() != actual.size()) return detail::str(actual.size(), " tensors, expected ", expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    if (const std::string d = differenceOf(expected[i], actual[i], also); !d.empty())
      return detail::str("tensor ", i, ": ", d);
  return {};
}

}  // namespace shunt::test
