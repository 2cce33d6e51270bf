// linalg_cross and cross: products of vectors of three elements.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

/// a b - c d. Whole numbers wrap around.
template <class T>
T minor(T a, T b, T c, T d) {
  if constexpr (isFloatingType(scalar_type_of<T>)) {
    using A = opmath_t<T>;
    return cast<T>(cast<A>(a) * cast<A>(b) - cast<A>(c) * cast<A>(d));
  } else {
    const auto wide = [](T x) { return static_cast<uint64_t>(static_cast<int64_t>(x)); };
    return static_cast<T>(wide(a) * wide(b) - wide(c) * wide(d));
  }
}

/// Elements `step` bytes apart.
template <class T>
struct Vector3 {
  std::byte* data;
  int64_t step;
  T& operator[](int64_t i) const { return *reinterpret_cast<T*>(data + i * step); }
};

template <class T>
void crossInto(const TensorImpl& a, const TensorImpl& b, const TensorImpl& out, size_t dim) {
  std::vector<int64_t> lanes = out.sizes().vec();
  lanes[dim] = 1;
  const std::array<Walked, 3> operands = {walkedOf(a, lanes.size()), walkedOf(b, lanes.size()),
                                          walkedOf(out, lanes.size())};
  forEachRunTogether<3>(lanes, operands,
                        [&](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
                          for (int64_t lane = 0; lane < n; ++lane) {
                            const Vector3<T> x{at[0], operands[0].strides[dim]}, y{at[1], operands[1].strides[dim]};
                            const Vector3<T> z{at[2], operands[2].strides[dim]};
                            z[0] = minor(x[1], y[2], x[2], y[1]);
                            z[1] = minor(x[2], y[0], x[0], y[2]);
                            z[2] = minor(x[0], y[1], x[1], y[0]);
                            for (size_t k = 0; k < 3; ++k) at[k] += strides[k];
                          }
                        });
}

}  // namespace

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  const TensorImpl &a = implOf(self, "linalg_cross"), &b = implOf(other, "linalg_cross", "other");
  SHUNT_CHECK(a.dim() == b.dim(), "linalg.cross: inputs must have the same number of dimensions, got ", a.sizes(),
              " and ", b.sizes());
  const auto d = static_cast<size_t>(maybe_wrap_dim(dim, a.dim()));
  const int64_t length = a.dim() == 0 ? 1 : a.sizes()[d], other_length = b.dim() == 0 ? 1 : b.sizes()[d];
  SHUNT_CHECK(length == 3 && other_length == 3, "linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
              length, " and ", other_length);
  const std::vector<int64_t> sizes = infer_size(a.sizes(), b.sizes());
  SHUNT_CHECK(a.dtype() == b.dtype(), "linalg.cross: expected scalar type ", a.dtype(), " but found ", b.dtype(),
              " for argument 'other'");
  if (a.dtype() == kBool) ::shunt::detail::throwNotImplementedFor("cross", kBool);
  Tensor out = newResult(a, sizes, a.dtype());
  if (!hasData(a) || out.numel() == 0) return out;
  const Tensor x = native::expand(self, sizes, false), y = native::expand(other, sizes, false);
  dispatchAllTypes(a.dtype(), "cross", [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>)
      crossInto<T>(*x.unsafeGetTensorImpl(), *y.unsafeGetTensorImpl(), *out.unsafeGetTensorImpl(), d);
  });
  return out;
}

namespace {

/// Without `dim` the first one of three elements.
int64_t crossDim(const Tensor& self, std::optional<int64_t> dim) {
  const TensorImpl& impl = implOf(self, "cross");
  if (dim) return *dim;
  for (int64_t d = 0; d < impl.dim(); ++d)
    if (impl.sizes()[static_cast<size_t>(d)] == 3) return d;
  throw Error(detail::str("no dimension of size 3 in input: cross() of a tensor of size ", impl.sizes()));
}

}  // namespace

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  return ops::linalg_cross::call(self, other, crossDim(self, dim));
}

Tensor& cross_out(const Tensor& self, const Tensor& other, std::optional<int64_t> dim, Tensor& out) {
  return ops::linalg_cross_out::call(self, other, crossDim(self, dim), out);
}

}  // namespace shunt::native
