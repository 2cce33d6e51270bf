// What reduction and product tests share: random tensors in many layouts, reading any element as double, plain
// reductions over index loops in double.
#pragma once

#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <cmath>
#include <functional>
#include <random>

namespace shunt::testing {

inline double valueAt(const Tensor& t, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * t.strides()[d];
  return dispatchAllTypes(t.dtype(), "valueAt", [&]<class T>(std::type_identity<T>) {
    return static_cast<double>(static_cast<const T*>(t.data_ptr())[at]);
  });
}

/// Calls f(index) for every index of a shape, in row-major order.
inline void forIndices(IntArrayRef sizes, const std::function<void(const std::vector<int64_t>&)>& f) {
  for (const int64_t s : sizes)
    if (s == 0) return;
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    f(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

inline std::vector<double> valuesOf(const Tensor& t) {
  std::vector<double> values;
  forIndices(t.sizes(), [&](const std::vector<int64_t>& i) { values.push_back(valueAt(t, i)); });
  return values;
}

/// Contiguous, values as the dtype allows: small integers, or normal numbers.
inline Tensor randomTensor(IntArrayRef sizes, ScalarType dtype, uint32_t seed = 1) {
  Tensor t(detail::makeCpuTensor(sizes, {}, dtype));
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  dispatchAllTypes(dtype, "randomTensor", [&]<class T>(std::type_identity<T>) {
    T* const p = static_cast<T*>(t.data_ptr());
    for (int64_t i = 0; i < t.numel(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        p[i] = engine() % 4 == 0;
      else if constexpr (std::is_same_v<T, uint8_t>)
        p[i] = static_cast<T>(engine() % 7);
      else if constexpr (std::is_integral_v<T>)
        p[i] = static_cast<T>(static_cast<int>(engine() % 13) - 6);
      else
        p[i] = T(static_cast<float>(normal(engine)));
    }
  });
  return t;
}

/// The same values in other layouts: as it is, with dimensions reversed in memory, every second element of a wider
/// tensor.
inline std::vector<Tensor> layoutsOf(const Tensor& t) {
  std::vector<Tensor> layouts = {t};
  const auto copyTo = [&](std::vector<int64_t> strides, int64_t extent) {
    Tensor memory(detail::makeCpuTensor(extent, {}, t.dtype()));
    auto impl = make_intrusive<TensorImpl>(memory.storage(), t.key_set(), t.dtype());
    impl->set_sizes_and_strides(t.sizes(), strides, 0);
    Tensor copy(std::move(impl));
    const auto size = static_cast<size_t>(t.element_size());
    forIndices(t.sizes(), [&](const std::vector<int64_t>& index) {
      int64_t from = 0, to = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        from += index[d] * t.strides()[d];
        to += index[d] * strides[d];
      }
      std::copy_n(static_cast<const std::byte*>(t.data_ptr()) + static_cast<size_t>(from) * size, size,
                  static_cast<std::byte*>(copy.data_ptr()) + static_cast<size_t>(to) * size);
    });
    layouts.push_back(copy);
  };
  const auto ndim = static_cast<size_t>(t.dim());
  std::vector<int64_t> reversed(ndim), spread(ndim);
  int64_t step = 1;
  for (size_t d = 0; d < ndim; ++d) {
    reversed[d] = step;
    step *= std::max<int64_t>(1, t.sizes()[d]);
  }
  copyTo(reversed, step);
  step = 2;
  for (size_t d = ndim; d-- > 0;) {
    spread[d] = step;
    step *= std::max<int64_t>(1, t.sizes()[d]);
  }
  copyTo(spread, step);
  return layouts;
}

/// fold(accumulator, value) over the elements of each output, in the tensor's order, dimensions `dims` reduced.
inline std::vector<double> reducedBy(const Tensor& t, const std::vector<int64_t>& dims, double initial,
                                     const std::function<double(double, double)>& fold) {
  std::vector<int64_t> kept_sizes;
  std::vector<bool> reduced(static_cast<size_t>(t.dim()), dims.empty());
  for (const int64_t d : dims) reduced[static_cast<size_t>(d < 0 ? d + t.dim() : d)] = true;
  int64_t outputs = 1;
  for (size_t d = 0; d < reduced.size(); ++d)
    if (!reduced[d]) outputs *= t.sizes()[d];
  std::vector<double> result(static_cast<size_t>(outputs), initial);
  forIndices(t.sizes(), [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      if (!reduced[d]) at = at * t.sizes()[d] + index[d];
    double& r = result[static_cast<size_t>(at)];
    r = fold(r, valueAt(t, index));
  });
  return result;
}

/// Relative to `scale` and to the expected value.
inline ::testing::AssertionResult near(const std::vector<double>& got, const std::vector<double>& expected,
                                       double tolerance, double scale = 1) {
  if (got.size() != expected.size())
    return ::testing::AssertionFailure() << got.size() << " elements, expected " << expected.size();
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (got[i] == expected[i]) continue;
    if (!(std::abs(got[i] - expected[i]) <= tolerance * (scale + std::abs(expected[i]))))
      return ::testing::AssertionFailure() << "element " << i << " is " << got[i] << ", expected " << expected[i];
  }
  return ::testing::AssertionSuccess();
}

/// The rounding of one operation in a dtype.
inline double epsilonOf(ScalarType t) {
  switch (t) {
    case kDouble:
      return 0x1p-52;
    case kFloat:
      return 0x1p-23;
    case kHalf:
      return 0x1p-10;
    case kBFloat16:
      return 0x1p-7;
    default:
      return 0;
  }
}

using test::errorOf;

}  // namespace shunt::testing
