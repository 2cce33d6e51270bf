// Operators of Shunt's with the rounding of PyTorch's kernels, for groups of fused operators (fused.h).
#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>

namespace {

using namespace shunt;

// self + alpha * other, rounded once.
struct AddScaled : functors::Functor<2, 1> {
  static constexpr DtypeSet kTypes = dtypeSet(kFloat, kDouble);
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C other, C alpha) const {
    if constexpr (sizeof(C) == sizeof(float))
      return __builtin_fmaf(other, alpha, self);
    else
      return __builtin_fma(other, alpha, self);
  }
};

struct SubScaled : functors::Functor<2, 1> {
  static constexpr DtypeSet kTypes = dtypeSet(kFloat, kDouble);
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C other, C alpha) const {
    return AddScaled()(self, other, -alpha);
  }
};

SHUNT_LIBRARY(shunt_torch, m) {
  for (const char* const name : {"add_scaled", "sub_scaled"}) {
    const std::string n = name;
    m.def(n + "(Tensor self, Tensor other, Scalar alpha=1) -> Tensor");
    m.def(n + "_(Tensor(a!) self, Tensor other, Scalar alpha=1) -> Tensor(a!)");
  }
}

void define(Library& m) {
  m.elementwise<AddScaled>("add_scaled");
  m.elementwise<SubScaled>("sub_scaled");
}
SHUNT_LIBRARY_IMPL(shunt_torch, CPU, m) { define(m); }
SHUNT_LIBRARY_IMPL(shunt_torch, Meta, m) { define(m); }

}  // namespace
