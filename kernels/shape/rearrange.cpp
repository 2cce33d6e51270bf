// repeat, roll, diag, tril, triu: elements in other places, made of views, copies and masks.
#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

namespace shunt::native {

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  const TensorImpl& base = implOf(self, "repeat");
  SHUNT_CHECK(repeats.size() >= base.sizes().size(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  // (2, 3) repeated (4, 5) is (4, 8, 15) of (4, 1, 2, 1, 3): every dimension with one for its copies before it.
  const size_t added = repeats.size() - base.sizes().size();
  std::vector<int64_t> apart, copied, result;
  for (size_t d = 0; d < repeats.size(); ++d) {
    SHUNT_CHECK(repeats[d] >= 0, "repeat(): the number of copies in dimension ", d, " must not be negative, got ",
                repeats[d]);
    const int64_t size = d < added ? 1 : base.sizes()[d - added];
    apart.insert(apart.end(), {1, size});
    copied.insert(copied.end(), {repeats[d], size});
    result.push_back(repeats[d] * size);
  }
  return shunt::_unsafe_view(self.reshape(apart).expand(copied).clone(MemoryFormat::Contiguous), result);
}

namespace {

Tensor rollOne(const Tensor& self, int64_t shift, int64_t dim) {
  if (self.numel() == 0) return self.clone(MemoryFormat::Preserve);
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  SHUNT_CHECK_INDEX(self.dim() != 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  const int64_t size = self.size(d);
  const int64_t start = ((size - shift % size) % size + size) % size;
  return shunt::cat({self.narrow(d, start, size - start), self.narrow(d, 0, start)}, d);
}

}  // namespace

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  implOf(self, "roll");
  SHUNT_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1)
    return shunt::_unsafe_view(rollOne(self.contiguous().view({self.numel()}), shifts[0], 0), self.sizes());
  SHUNT_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
              ", dims:", dims.size());
  Tensor rolled = self;
  for (size_t i = 0; i < dims.size(); ++i) rolled = rollOne(rolled, shifts[i], dims[i]);
  return rolled;
}

/// The diagonal of a matrix, or a matrix with this diagonal.
Tensor diag(const Tensor& self, int64_t diagonal) {
  const TensorImpl& base = implOf(self, "diag");
  SHUNT_CHECK(base.dim() == 1 || base.dim() == 2, "diag(): matrix or a vector expected, but got a tensor of sizes ",
              base.sizes());
  if (base.dim() == 2) return self.diagonal(diagonal).clone(MemoryFormat::Contiguous);
  const int64_t n = base.numel() + (diagonal < 0 ? -diagonal : diagonal);
  return shunt::zeros({n, n}, self.options()).diagonal_scatter(self, diagonal);
}

namespace {

/// column - row at every place of the matrices.
Tensor diagonalsOf(const Tensor& self, const char* op, bool in_place = false) {
  const TensorImpl& base = implOf(self, op);
  if (in_place) elementwise::assertNoInternalOverlap(op, base, shunt::Overlap::kError);
  SHUNT_CHECK(base.dim() >= 2, op, ": input tensor must have at least 2 dimensions");
  const TensorOptions options = TensorOptions(kLong).device(base.device());
  return shunt::sub(shunt::arange(self.size(-1), options), shunt::arange(self.size(-2), options).unsqueeze(1));
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) {
  return shunt::masked_fill(self, diagonalsOf(self, "tril").gt(diagonal), 0);
}
Tensor& tril_(Tensor& self, int64_t diagonal) {
  return self.masked_fill_(diagonalsOf(self, "tril_", true).gt(diagonal), 0);
}
Tensor triu(const Tensor& self, int64_t diagonal) {
  return shunt::masked_fill(self, diagonalsOf(self, "triu").lt(diagonal), 0);
}
Tensor& triu_(Tensor& self, int64_t diagonal) {
  return self.masked_fill_(diagonalsOf(self, "triu_", true).lt(diagonal), 0);
}

}  // namespace shunt::native
