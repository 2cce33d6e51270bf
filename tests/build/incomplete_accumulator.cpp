// Must not compile: an accumulator whose blocks have pivots, but no way to merge two of them.
#include "kernels/rows/descriptor.h"

namespace shunt::accumulators {
struct Incomplete : Accumulator {
  using Pivot = Mean;
  static constexpr Join kJoin = Join::kSum;
  static constexpr auto resultType = reduce::typeOfMoment;
  template <class A>
  static A term(A x, A mean, A) {
    return x - mean;
  }
};
}  // namespace shunt::accumulators

const shunt::rows::Descriptor& op = shunt::reduce::kDescriptor<shunt::accumulators::Incomplete>;
