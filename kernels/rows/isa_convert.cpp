// Tables of the loops between element types and accumulator types.
#include "kernels/rows/convert.h"

namespace shunt::reduce {
namespace {

template <class A, class T>
void loadLoop(A* dst, const std::byte* src, int64_t stride, int64_t n) {
  load<A, T>(dst, src, stride, n);
}

template <class A, class T>
void storeLoop(std::byte* dst, const A* src, int64_t stride, int64_t n) {
  store<A, T>(dst, src, stride, n);
}

template <class A, class... From, class... To>
constexpr ConvertLoops<A> makeLoops(Types<From...>, Types<To...>) {
  ConvertLoops<A> loops = {};
  ((loops.load[static_cast<int>(scalar_type_of<From>)] = loadLoop<A, From>), ...);
  ((loops.store[static_cast<int>(scalar_type_of<To>)] = storeLoop<A, To>), ...);
  return loops;
}
template <class A>
constexpr ConvertLoops<A> kLoops = makeLoops<A>(typename Elements<A>::From{}, typename Elements<A>::To{});

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ConvertLoops> kConvertLoops = {kLoops<float>, kLoops<double>, kLoops<int64_t>,
                                                              kLoops<uint8_t>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
