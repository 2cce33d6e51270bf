// Must not compile: an accumulator that no entry of the dictionary names would have no loops, and its first call would
// crash.
#include "kernels/rows/descriptor.h"

namespace shunt::accumulators {
struct Unlisted : Sum {};
}  // namespace shunt::accumulators

const shunt::rows::Descriptor& op = shunt::reduce::kDescriptor<shunt::accumulators::Unlisted>;
