// Operators of the unnamed namespace's functors. elsewhere/functor.cpp has others of the same names.
#include <shunt/elementwise/library.h>

namespace {

/// x * x + alpha, for every number type.
struct Mine : shunt::functors::Functor<1, 1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C alpha) const {
    return static_cast<C>(x * x + alpha);
  }
};

SHUNT_LIBRARY(first, m) {
  m.def("mine(Tensor self, Scalar alpha) -> Tensor");
  m.def("mine_(Tensor(a!) self, Scalar alpha) -> Tensor(a!)");
  m.def("mine.out(Tensor self, Scalar alpha, *, Tensor(a!) out) -> Tensor(a!)");
}
SHUNT_LIBRARY_IMPL(first, CPU, m) { m.elementwise<Mine>("mine"); }

}  // namespace
