// arange, linspace and eye.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"

#include <shunt/core/tls.h>
#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <limits>

namespace shunt::native {

namespace {

bool isFinite(double v) { return v - v == 0; }

/// The number of steps in [start, end), in integers for int64 results and in doubles for all others, as PyTorch counts.
int64_t arangeSize(ScalarType dtype, const Scalar& start, const Scalar& end, const Scalar& step) {
  const double first = start.toDouble();
  const double last = end.toDouble();
  const bool integral = isIntegralType(dtype, false);
  const double step_value = integral ? static_cast<double>(step.toLong()) : step.toDouble();
  const auto isZero = [](double v) { return !(v > 0 || v < 0); };
  SHUNT_CHECK(!isZero(step.toDouble()), "arange(): step must be nonzero, but got ", step, " for dtype ", dtype);
  // A ValueError, as in PyTorch, where it is only the whole number that is zero.
  SHUNT_CHECK_VALUE(!isZero(step_value), "arange(): step must be nonzero, but got ", step, " for dtype ", dtype);
  SHUNT_CHECK(isFinite(first) && isFinite(last), "arange(): unsupported range: ", first, " -> ", last);
  // In whole numbers for whole results, as PyTorch looks: a range from 0 to -0.5 is empty.
  const bool rises = integral ? end.toLong() >= start.toLong() : last >= first;
  const bool falls = integral ? end.toLong() <= start.toLong() : last <= first;
  SHUNT_CHECK(step_value > 0 ? rises : falls,
              "arange(): upper bound and larger bound inconsistent with step sign: start ", first, ", end ", last,
              ", step ", step);
  double size = 0;
  if (dtype == kLong) {
    const int64_t increment = step.toLong();
    const __int128 span = static_cast<__int128>(end.toLong()) - start.toLong();
    size = static_cast<double>((span + increment - (increment > 0 ? 1 : -1)) / increment);
  } else {
    size = __builtin_ceil((last - first) / step.toDouble());
  }
  SHUNT_CHECK(size >= 0 && size < static_cast<double>(std::numeric_limits<int64_t>::max()),
              "arange(): invalid size, possible overflow? start ", first, ", end ", last, ", step ", step);
  return static_cast<int64_t>(size);
}

/// dtype when none is given: int64 if every number is integral, else the default floating type.
ScalarType arangeType(std::optional<ScalarType> dtype, const Scalar& start, const Scalar& end, const Scalar& step) {
  if (dtype) return *dtype;
  const bool integral = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  return integral ? kLong : get_default_dtype();
}

void checkArangeType(ScalarType dtype) {
  if (dtype == kBool) ::shunt::detail::throwNotImplementedFor("arange", dtype);
}

void checkLinspaceType(ScalarType dtype, int64_t steps) {
  if (dtype == kBool && steps > 1) ::shunt::detail::throwNotImplementedFor("linspace", dtype);
}

void fillArange(const TensorImpl& out, const Scalar& start, const Scalar& step) {
  dispatchAllTypes(out.dtype(), "arange", [&]<class T>(std::type_identity<T>) {
    int64_t i = 0;
    if constexpr (std::is_integral_v<T>) {
      const auto first = static_cast<uint64_t>(start.toLong());
      const auto increment = static_cast<uint64_t>(step.toLong());
      forEachElement<T>(
          out, [&](T& v) { v = cast<T>(static_cast<int64_t>(first + increment * static_cast<uint64_t>(i++))); });
    } else {
      const double first = start.toDouble();
      const double increment = step.toDouble();
      forEachElement<T>(out, [&](T& v) { v = cast<T>(first + increment * static_cast<double>(i++)); });
    }
  });
}

// From both ends to the middle, so that the last element is exactly `end`.
void fillLinspace(const TensorImpl& out, const Scalar& start, const Scalar& end, int64_t steps) {
  dispatchAllTypes(out.dtype(), "linspace", [&]<class T>(std::type_identity<T>) {
    using C = std::conditional_t<std::is_integral_v<T>, double, opmath_t<T>>;
    const C first = cast<C>(start.to<T>());
    const C last = cast<C>(end.to<T>());
    const C step = steps > 1 ? (last - first) / static_cast<C>(steps - 1) : C{0};
    int64_t i = 0;
    forEachElement<T>(out, [&](T& v) {
      const bool early = i < steps / 2 || steps == 1;
      v = cast<T>(early ? first + step * static_cast<C>(i) : last - step * static_cast<C>(steps - i - 1));
      ++i;
    });
  });
}

Tensor below(Tensor out, auto&& write) {
  AutoDispatchBelowAutograd guard;
  write(out);
  return out;
}

}  // namespace

Tensor arange(const Scalar& end, std::optional<ScalarType> dtype, std::optional<Layout> layout,
              std::optional<Device> device, std::optional<bool> pin_memory) {
  return arange_start_step(0, end, 1, dtype, layout, device, pin_memory);
}

Tensor arange_start(const Scalar& start, const Scalar& end, std::optional<ScalarType> dtype,
                    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return arange_start_step(start, end, 1, dtype, layout, device, pin_memory);
}

Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<ScalarType> dtype,
                         std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  const ScalarType type = arangeType(dtype, start, end, step);
  checkOptions("arange", type, layout, pin_memory);
  checkArangeType(type);
  const int64_t size = arangeSize(type, start, end, step);
  return below(makeEmpty("arange", size, type, layout, device, pin_memory),
               [&](Tensor& out) { shunt::arange_out(out, start, end, step); });
}

Tensor& arange_out(const Scalar& end, Tensor& out) {
  AutoDispatchBelowAutograd guard;  // one change of `out`, counted by whoever called
  return shunt::arange_out(out, 0, end, 1);
}

Tensor& arange_start_out_meta(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  const ScalarType dtype = implOf(out, "arange", "out").dtype();
  checkArangeType(dtype);
  const int64_t size = arangeSize(dtype, start, end, step);
  checkedSizes("arange", size, dtype);
  // A tensor with as many elements keeps its shape.
  if (out.numel() != size)
    resizeOutput(out, size);
  else
    elementwise::assertNoInternalOverlap("arange", *out.unsafeGetTensorImpl(), Overlap::kError);
  return out;
}

Tensor& arange_start_out_cpu(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  arange_start_out_meta(start, end, step, out);
  fillArange(*out.unsafeGetTensorImpl(), start, step);
  return out;
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<ScalarType> dtype,
                std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  SHUNT_CHECK(steps >= 0, "linspace(): number of steps must be non-negative, but got ", steps);
  const ScalarType type = dtype ? *dtype : get_default_dtype();
  checkLinspaceType(type, steps);
  return below(makeEmpty("linspace", steps, type, layout, device, pin_memory),
               [&](Tensor& out) { shunt::linspace_out(out, start, end, steps); });
}

Tensor& linspace_out_meta(const Scalar&, const Scalar&, int64_t steps, Tensor& out) {
  implOf(out, "linspace", "out");
  SHUNT_CHECK(steps >= 0, "linspace(): number of steps must be non-negative, but got ", steps);
  checkLinspaceType(out.scalar_type(), steps);
  if (out.numel() != steps)
    resizeOutput(out, steps);
  else
    elementwise::assertNoInternalOverlap("linspace", *out.unsafeGetTensorImpl(), Overlap::kError);
  return out;
}

Tensor& linspace_out_cpu(const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  linspace_out_meta(start, end, steps, out);
  fillLinspace(*out.unsafeGetTensorImpl(), start, end, steps);
  return out;
}

Tensor eye(int64_t n, std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
           std::optional<bool> pin_memory) {
  return eye_m(n, n, dtype, layout, device, pin_memory);
}

Tensor eye_m(int64_t n, int64_t m, std::optional<ScalarType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  return below(makeEmpty("eye", 0, dtype ? *dtype : get_default_dtype(), layout, device, pin_memory),
               [&](Tensor& out) { shunt::eye_out(out, n, m); });
}

Tensor& eye_out(int64_t n, Tensor& out) {
  AutoDispatchBelowAutograd guard;
  return shunt::eye_out(out, n, n);
}

Tensor& eye_m_out_meta(int64_t n, int64_t m, Tensor& out) {
  implOf(out, "eye", "out");
  SHUNT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  SHUNT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  resizeOutput(out, {n, m});
  return out;
}

Tensor& eye_m_out_cpu(int64_t n, int64_t m, Tensor& out) {
  eye_m_out_meta(n, m, out);
  zeroBelowAutograd(out);
  const int64_t length = std::min(n, m);
  if (length == 0) return out;
  const IntArrayRef strides = out.strides();
  fillBelowAutograd(makeView(*out.unsafeGetTensorImpl(), length, strides[0] + strides[1], out.storage_offset()), 1);
  return out;
}

}  // namespace shunt::native
