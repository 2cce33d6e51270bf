// fill_ and zero_.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"

#include <shunt/core/tls.h>
#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <cstring>
#include <limits>

namespace shunt::native {

namespace {

template <class T>
void fillRun(std::byte* data, int64_t n, int64_t stride, T value) {
  if (stride == static_cast<int64_t>(sizeof(T))) {
    T* p = reinterpret_cast<T*>(data);
    for (int64_t i = 0; i < n; ++i) p[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(data + i * stride) = value;
  }
}

/// The value as a T. Other than a cast of elements, a finite number that is too large for T is an error.
template <class T>
T fillValue(const Scalar& value) {
  if constexpr (isFloatingType(scalar_type_of<T>)) {
    const double v = value.toDouble();
    const double largest = cast<double>(std::numeric_limits<T>::max());
    SHUNT_CHECK((v >= -largest && v <= largest) || v - v != 0, "value cannot be converted to type ", scalar_type_of<T>,
                " without overflow: ", v);
    return cast<T>(v);
  } else {
    return value.to<T>();
  }
}

// Filling writes the same value everywhere, so overlapping elements and the order of dimensions do not matter.
void fillCpu(const TensorImpl& t, const Scalar& value) {
  dispatchAllTypes(t.dtype(), "fill_", [&]<class T>(std::type_identity<T>) {
    const T v = fillValue<T>(value);
    if (std::byte* data = denseData(t)) return fillRun(data, t.numel(), sizeof(T), v);
    forEachRun(t, [&](std::byte* data, int64_t n, int64_t stride) { fillRun(data, n, stride, v); });
  });
}

void zeroCpu(const TensorImpl& t) {
  // All bits zero is 0 in every dtype.
  if (std::byte* data = denseData(t))
    std::memset(data, 0, static_cast<size_t>(t.numel() * t.itemsize()));
  else
    fillCpu(t, 0);
}

}  // namespace

std::byte* denseData(const TensorImpl& t) {
  return t.numel() != 0 && t.is_non_overlapping_and_dense() ? t.data() : nullptr;
}

Tensor& fill_cpu_(Tensor& self, const Scalar& value) {
  fillCpu(implOf(self, "fill_"), value);
  return self;
}

// The value is checked as it would be on a device with data.
Tensor& fill_meta_(Tensor& self, const Scalar& value) {
  dispatchAllTypes(implOf(self, "fill_").dtype(), "fill_",
                   [&]<class T>(std::type_identity<T>) { fillValue<T>(value); });
  return self;
}

Tensor fill_scalar(const Tensor& self, const Scalar& value) {
  implOf(self, "fill");
  Tensor result = native::empty_like(self, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  fillBelowAutograd(result, value);
  return result;
}

Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  implOf(self, "fill");
  Tensor result = native::empty_like(self, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  return fill_tensor_(result, value);
}

Tensor& fill_tensor_(Tensor& self, const Tensor& value) {
  implOf(self, "fill_");
  const TensorImpl& v = implOf(value, "fill_", "value");
  SHUNT_CHECK(v.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", v.dim(),
              " dimensions.");
  if (self.is_cpu() && value.is_cpu())
    fillCpu(*self.unsafeGetTensorImpl(), value.item());
  else if (!self.is_meta())
    copyBelowAutograd(self, value);  // Meta: overlapping elements do not matter here either
  return self;
}

Tensor& zero_(Tensor& self) {
  implOf(self, "zero_");
  zeroBelowAutograd(self);
  return self;
}

void fillBelowAutograd(const Tensor& dst, const Scalar& value) {
  if (dst.is_cpu()) return fillCpu(*dst.unsafeGetTensorImpl(), value);
  Tensor handle = dst;
  if (dst.is_meta()) return (void)fill_meta_(handle, value);
  AutoDispatchBelowAutograd guard;
  handle.fill_(value);
}

void zeroBelowAutograd(const Tensor& dst) {
  if (dst.is_cpu()) return zeroCpu(*dst.unsafeGetTensorImpl());
  if (dst.is_meta()) return;
  AutoDispatchBelowAutograd guard;
  Tensor handle = dst;
  handle.fill_(0);
}

}  // namespace shunt::native
