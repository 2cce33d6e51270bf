// A kernel that multiplies by what a function of another source or library returns.
#include "tests/jit/plugin/scaled.h"

#include <shunt/shunt.h>

shunt::Tensor scaledByFactor(const shunt::Tensor& self) {
  shunt::Tensor out = shunt::empty_like(self);
  const auto by = static_cast<float>(factor());
  for (int64_t i = 0; i < self.numel(); ++i) out.data_ptr<float>()[i] = self.data_ptr<float>()[i] * by;
  return out;
}

SHUNT_LIBRARY_IMPL(bound, CPU, m) { m.impl("scaled", shunt::CppFunction::makeUnboxed<&scaledByFactor>()); }
