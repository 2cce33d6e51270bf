// An operator of a user's own, in a library that bin/shunt loads.
#include <shunt/shunt.h>

SHUNT_LIBRARY(mine, m) { m.def("twice(Tensor self) -> Tensor"); }
SHUNT_LIBRARY_IMPL(mine, CPU, m) {
  m.impl("twice", [](const shunt::Tensor& x) { return x + x; });
}
