// A library that overrides a dictionary operator's kernel while it is loaded, by a functor that thunks inline.
#include <shunt/elementwise/library.h>

namespace {

struct Mark : shunt::functors::Functor<2> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C, C) const {
    return static_cast<C>(77);
  }
};

SHUNT_LIBRARY_IMPL(aten, CPU, m) { m.elementwise<Mark>("mul.Tensor"); }

}  // namespace
