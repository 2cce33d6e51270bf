// Kernels of the program, compiled to machine code and bitcode by shunt_add_kernels: thunks inline them.
#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>

namespace {

/// The arithmetic of one element: x + alpha * y^2. Broadcasting, dtypes and vector loops follow from it.
struct AddSquare : shunt::functors::Functor<2, 1> {  // two tensors, one number
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  C operator()(C x, C y, C alpha) const {
    return x + alpha * y * y;
  }
};

/// A kernel that is a function, of other operators.
shunt::Tensor twice(const shunt::Tensor& x) { return x + x; }

}  // namespace

SHUNT_LIBRARY(example_kernels, m) {
  m.def("addsquare(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("addsquare_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  m.def("addsquare.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  m.def("twice(Tensor self) -> Tensor");
}
SHUNT_LIBRARY_IMPL(example_kernels, CPU, m) {
  m.elementwise<AddSquare>("addsquare");                       // all forms that are defined
  m.impl("twice", shunt::CppFunction::makeUnboxed<&twice>());  // a template argument, so that it can be inlined
}
SHUNT_LIBRARY_IMPL(example_kernels, Meta, m) { m.elementwise<AddSquare>("addsquare"); }
