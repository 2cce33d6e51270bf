// where with numbers, masked_fill with a tensor as value, threshold: on top of the elementwise operators.
#include "kernels/pointwise/functors/select.h"
#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_walk.h"
#include "kernels/pointwise/run.h"

#include <shunt/core/tls.h>
#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

/// A byte mask is an old form of a bool one: it may hold 0 and 1 only.
void checkByteMask(const Tensor& self, const Tensor& mask) {
  if (!mask.defined() || !self.defined() || self.numel() == 0 || mask.scalar_type() != kByte || !mask.is_cpu()) return;
  Tensor bytes(detail::makeCpuTensor(mask.sizes(), {}, kByte));
  elementwise::runOut<functors::Copy>("masked_fill", bytes, mask);
  const uint8_t* p = bytes.data_ptr<uint8_t>();
  for (int64_t i = 0; i < bytes.numel(); ++i) SHUNT_CHECK(p[i] <= 1, "Mask tensor can take 0 and 1 values only");
}

/// On Meta there is no value to read, and none is needed.
Scalar valueOf(const Tensor& value) {
  SHUNT_CHECK(value.defined(),
              "masked_fill(): argument 'value' (position 3) is an undefined tensor; expected one with data");
  SHUNT_CHECK(value.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  return value.is_meta() ? Scalar(0) : value.item();
}

bool isNumber(const Tensor& t) { return t.defined() && t.unsafeGetTensorImpl()->is_wrapped_number(); }

/// An integer becomes one of the tensor's dtype, so it has to fit.
void checkFits(const Scalar& number, const Tensor& other) {
  if (!other.defined() || !number.isIntegral(false) || !isIntegralType(other.scalar_type(), false)) return;
  dispatchAllTypes(other.scalar_type(), "where", [&]<class T>(std::type_identity<T>) { (void)number.to<T>(); });
}

/// Numbers have a category and no width: floating-point ones on both sides give the default dtype.
Tensor whereNumber(const Tensor& condition, const Tensor& self, const Tensor& other) {
  const Tensor chosen = shunt::where(condition, self, other);
  return chosen.is_floating_point() && isNumber(self) && isNumber(other) ? chosen.to(get_default_dtype()) : chosen;
}

}  // namespace

Tensor where_scalar_self(const Tensor& condition, const Scalar& self, const Tensor& other) {
  checkFits(self, other);
  return whereNumber(condition, wrapped_scalar_tensor(self), other);
}

Tensor where_scalar_other(const Tensor& condition, const Tensor& self, const Scalar& other) {
  checkFits(other, self);
  return whereNumber(condition, self, wrapped_scalar_tensor(other));
}

Tensor where_scalars(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return whereNumber(condition, wrapped_scalar_tensor(self), wrapped_scalar_tensor(other));
}

Tensor masked_fill_scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  checkByteMask(self, mask);
  return elementwise::run<functors::MaskedFill>("masked_fill", self, mask, value);
}

namespace {

/// Of a tensor that overlaps itself, an element is filled when the mask has any of its places. The loop would let the
/// last one decide, which may write back what was there before.
bool fillsOverlapping(Tensor& self, const Tensor& mask, const Scalar& value) {
  if (!self.defined() || !mask.defined() || self.numel() == 0) return false;
  const TensorImpl& to = *self.unsafeGetTensorImpl();
  if (!elementwise::overlapsItself(to)) [[likely]]
    return false;
  elementwise::assertNoInternalOverlap("masked_fill_", to, Overlap::kWarning);
  elementwise::assertNoPartialOverlap("masked_fill_", to, *mask.unsafeGetTensorImpl());
  const Tensor filled = elementwise::run<functors::MaskedFill>("masked_fill_", self, mask, value);
  SHUNT_CHECK(filled.sizes() == self.sizes(), "masked_fill_(): output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", filled.sizes());
  if (!native::hasData(to)) return true;
  const Tensor where = native::expand(mask, self.sizes(), false);
  const auto dims = static_cast<size_t>(self.dim());
  const TensorImpl &from = *filled.unsafeGetTensorImpl(), &chosen = *where.unsafeGetTensorImpl();
  native::dispatchBySize(to.itemsize(), [&]<class T>(std::type_identity<T>) {
    native::forEachRunTogether<3>(
        self.sizes(), {native::walkedOf(to, dims), native::walkedOf(from, dims), native::walkedOf(chosen, dims)},
        [](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            if (*reinterpret_cast<const uint8_t*>(at[2]) != 0)
              *reinterpret_cast<T*>(at[0]) = *reinterpret_cast<const T*>(at[1]);
            for (size_t o = 0; o < 3; ++o) at[o] += strides[o];
          }
        });
  });
  return true;
}

}  // namespace

Tensor& masked_fill__scalar(Tensor& self, const Tensor& mask, const Scalar& value) {
  checkByteMask(self, mask);
  if (fillsOverlapping(self, mask, value)) [[unlikely]]
    return self;
  elementwise::runInplace<functors::MaskedFill>("masked_fill_", self, mask, value);
  return self;
}

Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill_scalar(self, mask, valueOf(value));
}

Tensor& masked_fill__tensor(Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill__scalar(self, mask, valueOf(value));
}

namespace {

/// Elements are compared with the threshold in their own dtype, of which it becomes a number. Compute types of 16-bit
/// tensors are wider, and an element between the two would fall on the other side.
Scalar inDtypeOf(const Tensor& t, const Scalar& threshold) {
  if (!t.defined() || elementSize(t.scalar_type()) != 2 || !isFloatingType(t.scalar_type())) [[likely]]
    return threshold;
  const auto number = static_cast<float>(threshold.toDouble());
  return t.scalar_type() == kHalf ? Scalar(static_cast<float>(Half(number)))
                                  : Scalar(static_cast<float>(BFloat16(number)));
}

}  // namespace

Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return elementwise::run<functors::Threshold>("threshold", self, inDtypeOf(self, threshold), value);
}
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value) {
  elementwise::runInplace<functors::Threshold>("threshold_", self, inDtypeOf(self, threshold), value);
  return self;
}
Tensor& threshold_out(const Tensor& self, const Scalar& threshold, const Scalar& value, Tensor& out) {
  elementwise::runOut<functors::Threshold>("threshold", out, self, inDtypeOf(self, threshold), value);
  return out;
}

Tensor threshold_backward(const Tensor& grad_output, const Tensor& self, const Scalar& threshold) {
  return elementwise::run<functors::ThresholdBackward>("threshold_backward", grad_output, self,
                                                       inDtypeOf(self, threshold));
}
Tensor& threshold_backward_out(const Tensor& grad_output, const Tensor& self, const Scalar& threshold,
                               Tensor& grad_input) {
  elementwise::runOut<functors::ThresholdBackward>("threshold_backward", grad_input, grad_output, self,
                                                   inDtypeOf(self, threshold));
  return grad_input;
}

}  // namespace shunt::native
