// What the shape and factory tests share: reading and making tensors without the operators under test. One thread.
#pragma once

#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace shunt::testing {

/// The elements in row-major order, read through sizes and strides.
inline std::vector<double> valuesOf(const Tensor& t) {
  std::vector<double> out;
  std::vector<int64_t> index(static_cast<size_t>(t.dim()), 0);
  const auto* base = static_cast<const std::byte*>(t.data_ptr());
  for (int64_t n = 0; n < t.numel(); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
    dispatchAllTypes(t.dtype(), "valuesOf", [&]<class T>(std::type_identity<T>) {
      T v;
      std::memcpy(&v, base + offset * t.element_size(), sizeof v);
      out.push_back(static_cast<double>(v));
    });
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

/// 0, 1, 2, ... in row-major order.
inline Tensor iota(IntArrayRef sizes, ScalarType dtype = kFloat) {
  Tensor t(detail::makeCpuTensor(sizes, {}, dtype));
  dispatchAllTypes(dtype, "iota", [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) static_cast<T*>(t.data_ptr())[i] = static_cast<T>(static_cast<float>(i));
  });
  return t;
}

inline std::vector<double> counted(int64_t n, double from = 0) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(from + static_cast<double>(i));
  return out;
}

using test::errorOf;

struct ErrorCase {
  const char* name;
  std::function<void()> run;
  const char* message;  // part of the error's text
};

inline void expectErrors(const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& c : cases) EXPECT_THAT(errorOf(c.run), ::testing::HasSubstr(c.message)) << c.name;
}

}  // namespace shunt::testing
