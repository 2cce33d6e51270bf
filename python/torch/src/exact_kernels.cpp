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

// In PyTorch's namespace, since plans make loops of its operators only: schemas of others may say too little.
SHUNT_LIBRARY_FRAGMENT(aten, m) {
  for (const char* const name : {"_add_scaled", "_sub_scaled"}) {
    const std::string n = name;
    m.def(n + "(Tensor self, Tensor other, Scalar alpha=1) -> Tensor");
    m.def(n + "_(Tensor(a!) self, Tensor other, Scalar alpha=1) -> Tensor(a!)");
  }
}

void define(Library& m) {
  m.elementwise<AddScaled>("_add_scaled");
  m.elementwise<SubScaled>("_sub_scaled");
}
SHUNT_LIBRARY_IMPL(aten, CPU, m) { define(m); }
SHUNT_LIBRARY_IMPL(aten, Meta, m) { define(m); }

}  // namespace
