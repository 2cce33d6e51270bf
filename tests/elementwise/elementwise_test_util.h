// What the elementwise tests share: tensors of any layout without operators, values that matter, comparison bit by bit.
// Single-threaded test code.
#pragma once

#include "kernels/pointwise/run.h"
#include "tests/support/error_of.h"
#include "tests/support/same_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace shunt::elementwise_test {

using Sizes = std::vector<int64_t>;

inline Tensor makeTensor(ScalarType dtype, const Sizes& sizes, const Sizes& strides = {}, Device device = kCPU) {
  return Tensor(shunt::detail::makeTensor(sizes, strides, dtype, device));
}

/// Shares `base`'s storage.
inline Tensor makeView(const Tensor& base, const Sizes& sizes, const Sizes& strides, int64_t offset = 0) {
  auto impl = make_intrusive<TensorImpl>(base.storage(), base.key_set(), base.dtype());
  impl->set_sizes_and_strides(sizes, strides, offset);
  return Tensor(std::move(impl));
}

inline Tensor transposed(const Tensor& t) {
  return makeView(t, {t.sizes()[1], t.sizes()[0]}, {t.strides()[1], t.strides()[0]}, t.storage_offset());
}

/// The address of the element with the given row-major index.
inline std::byte* elementAt(const Tensor& t, int64_t index) {
  int64_t offset = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    offset += index % t.sizes()[d] * t.strides()[d];
    index /= t.sizes()[d];
  }
  return t.unsafeGetTensorImpl()->data() + offset * t.itemsize();
}

template <class T>
T get(const Tensor& t, int64_t index) {
  return elementwise::loadRaw<T>(elementAt(t, index));
}
template <class T>
void put(const Tensor& t, int64_t index, T value) {
  elementwise::storeRaw<T>(elementAt(t, index), value);
}

template <class T>
Tensor tensorOf(const std::vector<T>& values, Sizes sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(values.size())};
  Tensor t = makeTensor(scalar_type_of<T>, sizes);
  for (size_t i = 0; i < values.size(); ++i) put<T>(t, static_cast<int64_t>(i), values[i]);
  return t;
}
template <class T>
Tensor zeroDim(T value) {
  Tensor t = makeTensor(scalar_type_of<T>, {});
  put<T>(t, 0, value);
  return t;
}
inline Tensor wrapped(const Scalar& s) {
  Tensor t = s.isFloatingPoint() ? zeroDim(s.toDouble()) : s.isBoolean() ? zeroDim(s.toBool()) : zeroDim(s.toLong());
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}
template <class T>
std::vector<T> valuesOf(const Tensor& t) {
  std::vector<T> out;
  for (int64_t i = 0; i < t.numel(); ++i) out.push_back(get<T>(t, i));
  return out;
}

/// Numbers with all the special ones among them; the same for one seed.
template <class T>
T interesting(std::mt19937_64& random) {
  const uint64_t r = random();
  if constexpr (std::is_same_v<T, bool>) {
    return (r & 1) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T kValues[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 2,
                             3, 7};
    return (r & 3) == 0 ? kValues[(r >> 8) % 8] : static_cast<T>(r >> 16);
  } else {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             kInfinity,
                             -kInfinity,
                             std::numeric_limits<double>::quiet_NaN(),
                             static_cast<double>(static_cast<float>(std::numeric_limits<T>::denorm_min())),
                             static_cast<double>(static_cast<float>(std::numeric_limits<T>::max())),
                             0.5,
                             2.0,
                             1e9,
                             -3e7};
    if ((r & 7) == 0) return T(static_cast<float>(values[(r >> 8) % std::size(values)]));
    const double mantissa = static_cast<double>(static_cast<int64_t>(r)) / 9.3e18;
    return T(static_cast<float>(std::ldexp(mantissa, static_cast<int>((r >> 3) % 17) - 8)));
  }
}

inline void fillInteresting(const Tensor& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  dispatchAllTypes(t.dtype(), "fill", [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) put<T>(t, i, interesting<T>(random));
  });
}

inline void expectSame(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_TRUE(test::sameBits(expected, actual, test::kButStrides)) << what;
}

using test::errorOf;

#define EXPECT_ERROR(statement, text) EXPECT_THAT(errorOf([&] { statement; }), ::testing::HasSubstr(text))

}  // namespace shunt::elementwise_test
