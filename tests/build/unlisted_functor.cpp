// Must not compile: a functor that is in no family's list would have no loops, and its first call would crash.
#include "kernels/pointwise/op_info.h"

namespace shunt::functors {
struct Unlisted : FloatFunctor<1> {
  template <class C>
  C operator()(C x) const {
    return x;
  }
};
}  // namespace shunt::functors

const shunt::elementwise::OpInfo& info = shunt::elementwise::kOpInfo<shunt::functors::Unlisted>;
