// Casts between every two dtypes, for operands that don't have the common dtype.
#include "kernels/pointwise/isa_loops.h"

namespace shunt::elementwise {
namespace {

// A buffer of a compiled region's may be both, where elements are as wide, so nothing here may say that they are apart.
template <class From, class To>
void castLoop(std::byte* out, const std::byte* in, int64_t n) {
  const Contiguous<From> from = contiguous<From>(in);
  const Contiguous<To> to{out};
  for (int64_t i = 0; i < n; ++i) to.store(i, from.template load<To>(i));
}

template <class From>
constexpr void fillCasts(CastFn* row) {
#define SHUNT_DTYPE(type, name, number, text) row[number] = &castLoop<From, type>;
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}

constexpr auto makeCasts() {
  std::array<CastFn, kDtypeSlots * kDtypeSlots> table{};
#define SHUNT_DTYPE(type, name, number, text) fillCasts<type>(table.data() + number * kDtypeSlots);
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  return table;
}

constexpr auto kCasts = makeCasts();

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
extern const CastFn* const kCastLoops;
constinit const CastFn* const kCastLoops = kCasts.data();
}  // namespace SHUNT_ISA_NAMESPACE
}  // namespace shunt::elementwise
