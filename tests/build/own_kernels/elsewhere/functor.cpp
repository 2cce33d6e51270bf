// The names of ../functor.cpp, and other arithmetic.
#include <shunt/elementwise/library.h>

namespace {

/// x - alpha / 2
struct Mine : shunt::functors::Functor<1, 1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kFloatTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C alpha) const {
    return static_cast<C>(x - alpha / static_cast<C>(2));
  }
};

SHUNT_LIBRARY(second, m) { m.def("mine(Tensor self, Scalar alpha) -> Tensor"); }
SHUNT_LIBRARY_IMPL(second, CPU, m) { m.elementwise<Mine>("mine"); }

}  // namespace
