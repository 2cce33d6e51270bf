// Kernels of the program itself: a functor with the program's definition, and a kernel that is no functor.
#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>

namespace {

struct Mine : shunt::functors::Functor<1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return static_cast<C>(x + static_cast<C>(IN_PROGRAM));
  }
};

shunt::Tensor twice(const shunt::Tensor& self) { return self.add(self); }

SHUNT_LIBRARY(program, m) {
  m.def("mine(Tensor self) -> Tensor");
  m.def("twice(Tensor self) -> Tensor");
}
SHUNT_LIBRARY_IMPL(program, CPU, m) {
  m.elementwise<Mine>("mine");
  m.impl("twice", shunt::CppFunction::makeUnboxed<&twice>());
}

}  // namespace
