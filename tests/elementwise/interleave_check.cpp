// Compiled for AVX2 and nothing else: which loops compute several pairs of vectors at a time there. isa_test compares
// their results with the other instruction sets'.
#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/functors/unary.h"

#include <shunt/elementwise/typed_loop.h>

namespace shunt::elementwise {
namespace {

template <class F, class D>
constexpr int kOf = kInterleaveOf<F, opmath_t<D>, kLanes<D>>;

static_assert(kOf<functors::Exp, float> == 2 && kOf<functors::Sigmoid, float> == 2);
static_assert(kOf<functors::Gelu, BFloat16> == 2 && kOf<functors::GeluTanh, Half> == 2);
static_assert(kOf<functors::Exp, double> == 1 && kOf<functors::Erf, float> == 1);
static_assert(loopOf<functors::Exp, float>() == &alignedLoop<functors::Exp, float>);
static_assert(loopOf<functors::Erf, float>() == &isaLoop<functors::Erf, float>);

}  // namespace
}  // namespace shunt::elementwise
