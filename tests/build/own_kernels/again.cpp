// In the same library, a functor of the same name again, and a binary one; and a dictionary operator's kernel.
#include <shunt/elementwise/library.h>

namespace {

/// 3 - x
struct Mine : shunt::functors::Functor<1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return static_cast<C>(static_cast<C>(3) - x);
  }
};

/// exp(a) * b
struct ExpTimes : shunt::functors::FloatFunctor<2> {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    return shunt::math::exp(a) * b;
  }
};

SHUNT_LIBRARY(again, m) {
  m.def("mine(Tensor self) -> Tensor");
  m.def("exptimes(Tensor self, Tensor other) -> Tensor");
}
SHUNT_LIBRARY_IMPL(again, CPU, m) {
  m.elementwise<Mine>("mine");
  m.elementwise<ExpTimes>("exptimes");
}
// Below the dictionary's autograd wrapper.
SHUNT_LIBRARY_IMPL(aten, CPU, m) { m.elementwise<Mine>("neg"); }

}  // namespace
