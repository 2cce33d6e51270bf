// Kernels of a library that tests load and unload. Two libraries are made of it, with other factors: their functions
// have the same names, and do different things.
#include "tests/jit/plugin/plugin.h"

#include <shunt/elementwise/library.h>

namespace {

struct Scale : shunt::functors::Functor<1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return static_cast<C>(x * static_cast<C>(PLUGIN_FACTOR) + static_cast<C>(1));
  }
};

shunt::Tensor wait(const shunt::Tensor& self) {
  plugin::enterGate();
  return self.add(PLUGIN_FACTOR);
}

shunt::Tensor drainInside(const shunt::Tensor& self) {
  plugin::drain();
  return self;
}

}  // namespace

void plugin::addKernels(shunt::Library& m) {
  m.elementwise<Scale>("scale");
  m.impl("wait", shunt::CppFunction::makeUnboxed<&wait>());
  m.impl("drain", shunt::CppFunction::makeUnboxed<&drainInside>());
}
