// scatter_reduce, and scatter with a reduction: elements that an index sends to one place are joined.
#include "kernels/shape/along_index.h"
#include "kernels/shape/sums.h"

#include <shunt/elementwise/cast.h>

#include <limits>

namespace shunt::native {

using namespace along_index;

namespace {

enum class Join : uint8_t { kSum, kProd, kMean, kMax, kMin };

Join joinOf(std::string_view reduce) {
  constexpr std::pair<std::string_view, Join> kNames[] = {
      {"sum", Join::kSum}, {"prod", Join::kProd}, {"mean", Join::kMean}, {"amax", Join::kMax}, {"amin", Join::kMin}};
  for (const auto& [name, join] : kNames)
    if (reduce == name) return join;
  throw Error(detail::str("reduce argument must be either sum, prod, mean, amax or amin, got ", reduce, '.'));
}

/// scatter's own names.
Join plainJoinOf(std::string_view reduce) {
  SHUNT_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply, got ", reduce,
              '.');
  return reduce == "add" ? Join::kSum : Join::kProd;
}

template <class A>
A identityOf(Join join) {
  using Limits = std::numeric_limits<A>;
  constexpr A kLowest = Limits::has_infinity ? static_cast<A>(-Limits::infinity()) : Limits::lowest();
  constexpr A kHighest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return join == Join::kProd ? A(1) : join == Join::kMax ? kLowest : join == Join::kMin ? kHighest : A(0);
}

/// NaN wins over every number.
template <class A>
A joined(Join join, A a, A b) {
  if constexpr (std::is_same_v<A, bool>) return join == Join::kProd || join == Join::kMin ? a && b : a || b;
  switch (join) {
    case Join::kProd:
      return static_cast<A>(a * b);
    case Join::kMax:
      return a > b || a != a ? a : b;
    case Join::kMin:
      return a < b || a != a ? a : b;
    case Join::kSum:
    case Join::kMean:
      break;
  }
  return static_cast<A>(a + b);
}

/// Sums become means: of whole numbers rounded down.
template <class T, class A>
void divide(Sums<T, A>& sums, const TensorImpl& to, const TensorImpl& counts) {
  const auto dims = static_cast<size_t>(dimsAtLeastOne(to));
  const int64_t whole = 1;
  forEachRunTogether<2>(to.dim() == 0 ? IntArrayRef(&whole, 1) : to.sizes(),
                        {walkedOf(to, dims), walkedOf(counts, dims)},
                        [&](std::array<std::byte*, 2> at, const std::array<int64_t, 2>& strides, int64_t n) {
                          for (int64_t i = 0; i < n; ++i, at[0] += strides[0], at[1] += strides[1]) {
                            const int64_t count = *reinterpret_cast<const int64_t*>(at[1]);
                            A& sum = sums[*reinterpret_cast<T*>(at[0])];
                            if constexpr (std::is_floating_point_v<A>)
                              sum = sum / static_cast<A>(count);
                            else
                              sum = static_cast<A>(sum / count - (sum % count < 0 ? 1 : 0));
                          }
                        });
}

/// How many elements each place is the mean of; 1 where there are none.
Tensor countsOf(const Tensor& self, int64_t dim, const TensorImpl& index, bool include_self) {
  const TensorImpl& to = *self.unsafeGetTensorImpl();
  const Tensor counts = newResult(to, to.sizes(), kLong), one = newResult(to, {}, kLong);
  auto* const all = reinterpret_cast<int64_t*>(counts.unsafeGetTensorImpl()->data());
  std::fill_n(all, to.numel(), include_self ? 1 : 0);
  *reinterpret_cast<int64_t*>(one.unsafeGetTensorImpl()->data()) = 1;
  alongIndex<int64_t>(index, dim, *counts.unsafeGetTensorImpl(), *one.unsafeGetTensorImpl(),
                      [](int64_t& count, int64_t& added) { count += added; });
  std::replace(all, all + to.numel(), int64_t{0}, int64_t{1});
  return counts;
}

/// Checked arguments. Returns at once for Meta.
void joinInto(const Target& t, Join join, bool include_self, const Tensor& self, int64_t dim, const Tensor& src) {
  const TensorImpl &to = *self.unsafeGetTensorImpl(), &at = *t.index.unsafeGetTensorImpl();
  if (at.numel() == 0) return;
  if (join == Join::kMean && to.dtype() == kBool)
    ::shunt::detail::throwNotImplementedFor("scatter_gather_tensor_cpu_reduce_mean", kBool);
  if (!hasData(to)) return;
  checkBounds(t.op, at, dim, sizeAt(to, dim));
  const Tensor from = readableBeside(src, to), positions = readableBeside(t.index, to);
  const TensorImpl &source = *from.unsafeGetTensorImpl(), &chosen = *positions.unsafeGetTensorImpl();
  const auto joinAll = [&]<class T, class A>(Sums<T, A>& sums) {
    if (!include_self)
      alongIndex<T>(chosen, dim, to, source, [&](T& element, T&) { sums[element] = identityOf<A>(join); });
    alongIndex<T>(chosen, dim, to, source, [&](T& element, T& added) {
      A& sum = sums[element];
      sum = joined(join, sum, cast<A>(added));
    });
  };
  dispatchAllTypes(to.dtype(), t.op, [&]<class T>(std::type_identity<T>) {
    if (join == Join::kMean) {
      // Whole numbers are added in 64 bits: their sum may be beyond T where the mean is not.
      using A = std::conditional_t<isIntegralType(scalar_type_of<T>, true), int64_t, opmath_t<T>>;
      Sums<T, A> sums(to);
      joinAll(sums);
      const Tensor counts = countsOf(self, dim, chosen, include_self);
      divide(sums, to, *counts.unsafeGetTensorImpl());
      return sums.store();
    }
    Sums<T> sums(to);
    joinAll(sums);
    sums.store();
  });
}

Tensor functional(const Target& t, Join join, bool include_self, const Tensor& src, int64_t dim) {
  Tensor result = native::clone(t.self, MemoryFormat::Contiguous);
  joinInto(t, join, include_self, result, dim, src);
  return result;
}

/// `src` stands for a number where `is_number`: its shape is nobody's matter.
Tensor& inPlace(const Target& t, Join join, bool include_self, Tensor& self, const Tensor& src, bool is_number) {
  const Tensor* checked = is_number ? nullptr : &src;
  const int64_t dim = checkedDim(t, checked);
  checkWritten(t, self, checked);
  joinInto(t, join, include_self, self, dim, src);
  return self;
}

Tensor& into(const Target& t, Join join, bool include_self, Tensor& out, const Tensor& src, bool is_number) {
  const Tensor* checked = is_number ? nullptr : &src;
  const int64_t dim = checkedDim(t, checked);
  prepareOut(t, checked, out);
  joinInto(t, join, include_self, out, dim, src);
  return out;
}

}  // namespace

Tensor scatter_joined(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce) {
  const Target t{"scatter", self, dim, index};
  return functional(t, plainJoinOf(reduce), true, src, checkedDim(t, &src));
}
Tensor& scatter__joined(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  return inPlace({"scatter_", self, dim, index}, plainJoinOf(reduce), true, self, src, false);
}
Tensor& scatter_out_joined(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                           std::string_view reduce, Tensor& out) {
  return into({"scatter", self, dim, index}, plainJoinOf(reduce), true, out, src, false);
}

Tensor scatter_value_joined(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                            std::string_view reduce) {
  const Target t{"scatter", self, dim, index};
  dim = checkedDim(t, nullptr);
  return functional(t, plainJoinOf(reduce), true, sourceOf(t, value), dim);
}
Tensor& scatter__value_joined(Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                              std::string_view reduce) {
  const Target t{"scatter_", self, dim, index};
  checkedDim(t, nullptr);
  return inPlace(t, plainJoinOf(reduce), true, self, sourceOf(t, value), true);
}
Tensor& scatter_out_value_joined(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                                 std::string_view reduce, Tensor& out) {
  const Target t{"scatter", self, dim, index};
  checkedDim(t, nullptr);
  return into(t, plainJoinOf(reduce), true, out, sourceOf(t, value), true);
}

Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self) {
  const Target t{"scatter_reduce", self, dim, index};
  return functional(t, joinOf(reduce), include_self, src, checkedDim(t, &src));
}
Tensor& scatter_reduce__two(Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                            bool include_self) {
  return inPlace({"scatter_reduce_", self, dim, index}, joinOf(reduce), include_self, self, src, false);
}
Tensor& scatter_reduce_out_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                               std::string_view reduce, bool include_self, Tensor& out) {
  return into({"scatter_reduce", self, dim, index}, joinOf(reduce), include_self, out, src, false);
}

}  // namespace shunt::native
