// Tables of softmax along rows (softmax_rows.h) and down columns (softmax_columns.h).
#include "kernels/nn/softmax_columns.h"
#include "kernels/nn/softmax_rows.h"
#include "kernels/nn/softmax_table.h"

namespace shunt::nn {
namespace {

template <class A, bool Log>
void forward(A* out, const A* in, int64_t rows, int64_t n) {
  softmaxRows<A, Log>(out, in, rows, n);
}

template <class A, bool Log>
void backward(A* out, const A* grad, const A* y, int64_t rows, int64_t n) {
  softmaxBackwardRows<A, Log>(out, grad, y, rows, n);
}

template <class A, bool Log>
void forwardDown(A* out, const A* in, int64_t n, int64_t stride, int64_t columns) {
  forwardColumns<A, Log>(out, in, n, stride, columns);
}

template <class A, bool Log>
void backwardDown(A* out, const A* grad, const A* y, int64_t n, int64_t stride, int64_t columns) {
  backwardColumns<A, Log>(out, grad, y, n, stride, columns);
}

template <class A>
constexpr SoftmaxLoops<A> kLoops = {{forward<A, false>, forward<A, true>},
                                    {backward<A, false>, backward<A, true>},
                                    {forwardDown<A, false>, forwardDown<A, true>},
                                    {backwardDown<A, false>, backwardDown<A, true>}};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const SoftmaxTable kSoftmaxTable = {kLoops<float>, kLoops<double>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::nn
