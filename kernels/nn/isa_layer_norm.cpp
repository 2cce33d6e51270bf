// Tables of layer_norm's loops along rows (layer_norm_rows.h).
#include "kernels/nn/layer_norm_rows.h"

namespace shunt::nn {
namespace {

template <class A>
void forward(const NormForward<A>& c, A* out, const A* x, int64_t row) {
  normRow(c, out, x, row);
}

template <class A>
void backward(const NormBackward<A>& c, A* out, const A* grad, const A* x, A mean, A rstd) {
  normBackwardRow(c, out, grad, x, mean, rstd);
}

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const NormTable kNormTable = {{forward<float>, backward<float>}, {forward<double>, backward<double>}};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::nn
