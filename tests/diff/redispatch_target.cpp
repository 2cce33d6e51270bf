// A library with the kernel that others redispatch to.
#include <shunt/shunt.h>

SHUNT_LIBRARY_IMPL(aten, SparseCPU, m) {
  m.impl("relu", [](const shunt::Tensor& x) { return shunt::full_like(x, 333); });
}
