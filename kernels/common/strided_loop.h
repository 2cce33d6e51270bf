// Visiting the elements of a strided tensor run by run: f(pointer, count, stride in bytes) for each innermost run.
//
// Dimensions are taken as they are; a tensor whose elements fill one dense run is a single call whatever its
// dimensions. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <cstddef>
#include <vector>

namespace shunt::native {

template <class F>
void forEachRun(const TensorImpl& t, F&& f) {
  if (t.numel() == 0) return;
  std::byte* data = t.data();
  const int64_t itemsize = t.itemsize();
  if (t.is_contiguous()) return f(data, t.numel(), itemsize);
  const IntArrayRef sizes = t.sizes();
  const IntArrayRef strides = t.strides();
  const size_t inner = sizes.size() - 1;
  std::vector<int64_t> index(inner, 0);
  for (;;) {
    f(data, sizes[inner], strides[inner] * itemsize);
    size_t d = inner;
    for (; d > 0; --d) {
      data += strides[d - 1] * itemsize;
      if (++index[d - 1] < sizes[d - 1]) break;
      data -= sizes[d - 1] * strides[d - 1] * itemsize;
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/// f(T&) for every element, in row-major order.
template <class T, class F>
void forEachElement(const TensorImpl& t, F&& f) {
  forEachRun(t, [&](std::byte* data, int64_t n, int64_t stride) {
    for (int64_t i = 0; i < n; ++i) f(*reinterpret_cast<T*>(data + i * stride));
  });
}

}  // namespace shunt::native
