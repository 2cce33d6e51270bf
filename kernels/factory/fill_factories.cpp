// zeros, ones, full and their new_ and _like forms, scalar_tensor: empty tensors, filled below autograd.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/view_util.h"

namespace shunt::native {

namespace {

Tensor filled(Tensor t, const Scalar& value) {
  fillBelowAutograd(t, value);
  return t;
}

Tensor zeroed(Tensor t) {
  zeroBelowAutograd(t);
  return t;
}

Tensor& fillOut(const char* op, IntArrayRef size, const Scalar& value, Tensor& out) {
  implOf(out, op, "out");
  detail::checkedNumel(op, size);
  resizeOutput(out, size);
  fillBelowAutograd(out, value);
  return out;
}

/// full's dtype when none is given: bool, int64 or the default floating type, by the value's kind.
ScalarType inferredType(const Scalar& value) {
  if (value.isBoolean()) return kBool;
  return value.isIntegral(false) ? kLong : get_default_dtype();
}

}  // namespace

Tensor zeros(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  return zeroed(makeEmpty("zeros", size, dtype ? *dtype : get_default_dtype(), layout, device, pin_memory));
}

Tensor ones(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory) {
  return filled(makeEmpty("ones", size, dtype ? *dtype : get_default_dtype(), layout, device, pin_memory), 1);
}

Tensor full(IntArrayRef size, const Scalar& fill_value, std::optional<ScalarType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory) {
  return filled(makeEmpty("full", size, dtype ? *dtype : inferredType(fill_value), layout, device, pin_memory),
                fill_value);
}

Tensor& zeros_out(IntArrayRef size, Tensor& out) { return fillOut("zeros", size, 0, out); }
Tensor& ones_out(IntArrayRef size, Tensor& out) { return fillOut("ones", size, 1, out); }
Tensor& full_out(IntArrayRef size, const Scalar& fill_value, Tensor& out) {
  return fillOut("full", size, fill_value, out);
}

Tensor zeros_like(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  implOf(self, "zeros_like");
  return zeroed(native::empty_like(self, dtype, layout, device, pin_memory, memory_format));
}

Tensor ones_like(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  implOf(self, "ones_like");
  return filled(native::empty_like(self, dtype, layout, device, pin_memory, memory_format), 1);
}

Tensor full_like(const Tensor& self, const Scalar& fill_value, std::optional<ScalarType> dtype,
                 std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  implOf(self, "full_like");
  return filled(native::empty_like(self, dtype, layout, device, pin_memory, memory_format), fill_value);
}

Tensor new_zeros(const Tensor& self, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory) {
  const TensorImpl& like = implOf(self, "new_zeros");
  return zeroed(
      makeEmpty("new_zeros", size, dtype.value_or(like.dtype()), layout, device.value_or(like.device()), pin_memory));
}

Tensor new_ones(const Tensor& self, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory) {
  const TensorImpl& like = implOf(self, "new_ones");
  return filled(
      makeEmpty("new_ones", size, dtype.value_or(like.dtype()), layout, device.value_or(like.device()), pin_memory), 1);
}

Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& fill_value, std::optional<ScalarType> dtype,
                std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  const TensorImpl& like = implOf(self, "new_full");
  return filled(
      makeEmpty("new_full", size, dtype.value_or(like.dtype()), layout, device.value_or(like.device()), pin_memory),
      fill_value);
}

Tensor scalar_tensor(const Scalar& s, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory) {
  return filled(makeEmpty("scalar_tensor", {}, dtype ? *dtype : get_default_dtype(), layout, device, pin_memory), s);
}

}  // namespace shunt::native
