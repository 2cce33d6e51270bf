// Must not compile: a functor that no entry of the dictionary names would have no loops, and its first call would
// crash.
#include "kernels/pointwise/descriptor.h"

namespace shunt::functors {
struct Unlisted : FloatFunctor<1> {
  template <class C>
  C operator()(C x) const {
    return x;
  }
};
}  // namespace shunt::functors

const shunt::elementwise::KernelDescriptor& info = shunt::elementwise::kDescriptor<shunt::functors::Unlisted>;
