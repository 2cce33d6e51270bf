// softmax and its gradient along short rows and down columns of any floating dtype, for one instruction set: a call's
// whole loop.
#include "kernels/nn/softmax.h"
#include "kernels/nn/softmax_columns.h"
#include "kernels/nn/softmax_rows.h"
#include "kernels/rows/rows.h"

namespace shunt::nn {
namespace {

/// Calls f(first element, elements) for as many rows as fit into a buffer.
template <class F>
SHUNT_ALWAYS_INLINE void forBuffers(const rows::Call& c, const F& f) {
  const int64_t fitting = kGroup / c.n;
  for (int64_t r = 0; r < c.outer; r += fitting) f(r * c.n, (c.outer - r < fitting ? c.outer - r : fitting));
}

/// Calls f(first element, columns) for groups of columns.
template <class F>
SHUNT_ALWAYS_INLINE void forColumns(const rows::Call& c, const F& f) {
  for (int64_t i = 0; i < c.outer; ++i)
    for (int64_t j = 0; j < c.inner; j += kColumns)
      f(i * c.n * c.inner + j, c.inner - j < kColumns ? c.inner - j : kColumns);
}

template <class A>
SHUNT_ALWAYS_INLINE const A* as(const std::byte* p) {
  return reinterpret_cast<const A*>(p);
}
template <class A>
SHUNT_ALWAYS_INLINE A* as(std::byte* p) {
  return reinterpret_cast<A*>(p);
}

template <class A, bool Log>
void softmaxLoop(const rows::Call& call) {
  const rows::Call c = call;
  if (c.inner != 1)
    return forColumns(c, [&](int64_t first, int64_t columns) __attribute__((always_inline)) {
      forwardColumns<A, Log>(as<A>(c.out[0]) + first, as<A>(c.in[0]) + first, c.n, c.inner, columns);
    });
  if (c.dtype == scalar_type_of<A>) return softmaxShortRows<A, Log>(as<A>(c.out[0]), as<A>(c.in[0]), c.outer, c.n);
  A buffer[kGroup];
  const int64_t size = elementSize(c.dtype);
  forBuffers(c, [&](int64_t first, int64_t rows) __attribute__((always_inline)) {
    reduce::loadRow(buffer, c.in[0] + first * size, c.dtype, rows * c.n);
    softmaxShortRows<A, Log>(buffer, buffer, rows, c.n);
    reduce::storeRow(c.out[0] + first * size, buffer, c.dtype, rows * c.n);
  });
}

template <class A, bool Log>
void softmaxBackwardLoop(const rows::Call& call) {
  const rows::Call c = call;
  if (c.inner != 1)
    return forColumns(c, [&](int64_t first, int64_t columns) __attribute__((always_inline)) {
      backwardColumns<A, Log>(as<A>(c.out[0]) + first, as<A>(c.in[0]) + first, as<A>(c.in[1]) + first, c.n, c.inner,
                              columns);
    });
  if (c.dtype == scalar_type_of<A>)
    return softmaxBackwardRows<A, Log>(as<A>(c.out[0]), as<A>(c.in[0]), as<A>(c.in[1]), c.outer, c.n);
  A grad[kGroup], y[kGroup];
  const int64_t size = elementSize(c.dtype);
  forBuffers(c, [&](int64_t first, int64_t rows) __attribute__((always_inline)) {
    reduce::loadRow(grad, c.in[0] + first * size, c.dtype, rows * c.n);
    reduce::loadRow(y, c.in[1] + first * size, c.dtype, rows * c.n);
    softmaxBackwardRows<A, Log>(grad, grad, y, rows, c.n);
    reduce::storeRow(c.out[0] + first * size, grad, c.dtype, rows * c.n);
  });
}

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const SoftmaxCalls kSoftmaxCalls = {{softmaxLoop<float, false>, softmaxLoop<float, true>},
                                              {softmaxLoop<double, false>, softmaxLoop<double, true>},
                                              {softmaxBackwardLoop<float, false>, softmaxBackwardLoop<float, true>},
                                              {softmaxBackwardLoop<double, false>, softmaxBackwardLoop<double, true>}};

}  // namespace SHUNT_ISA_NAMESPACE
}  // namespace shunt::nn
