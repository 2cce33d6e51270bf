// A kernel that the cmake block of docs/own_kernels.md compiles.
#include <shunt/shunt.h>

namespace {

struct Twice : shunt::functors::FloatFunctor<1> {
  template <class C>
  C operator()(C x) const {
    return x + x;
  }
};

}  // namespace

SHUNT_LIBRARY(docs, m) { m.def("twice(Tensor self) -> Tensor"); }
SHUNT_LIBRARY_IMPL(docs, CPU, m) { m.elementwise<Twice>("twice"); }
