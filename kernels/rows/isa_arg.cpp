// Loops that find where an extreme value stands.
#include "kernels/rows/first_of.h"
#include "kernels/rows/loop_table.h"

#include <shunt/core/macros.h>

namespace shunt::reduce {
namespace {

template <class A>
constexpr ArgLoops<A> kLoops = {firstOf<A>, {argRow<true, A>, argRow<false, A>}};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ArgLoops> kArgLoops = {kLoops<float>, kLoops<double>, kLoops<int64_t>, kLoops<uint8_t>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
