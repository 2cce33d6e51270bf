// The generic loops of softmax along short rows: what the compiler specialises. The interpreter doesn't run them.
#include "kernels/nn/softmax.h"
#include "kernels/nn/softmax_rows.h"
#include "kernels/rows/rows.h"

namespace shunt::nn {
namespace {

/// Calls f(first element, elements) for as many rows as fit into a buffer.
template <class F>
SHUNT_ALWAYS_INLINE void forBuffers(const rows::Call& c, const F& f) {
  const int64_t fitting = kGroup / c.n;
  for (int64_t r = 0; r < c.rows; r += fitting) f(r * c.n, (c.rows - r < fitting ? c.rows - r : fitting));
}

template <class A>
SHUNT_ALWAYS_INLINE const A* as(const std::byte* p) {
  return reinterpret_cast<const A*>(p);
}
template <class A>
SHUNT_ALWAYS_INLINE A* as(std::byte* p) {
  return reinterpret_cast<A*>(p);
}

}  // namespace

// With symbols, by which the compiler finds them.
template <class A, bool Log>
void softmaxLoop(const rows::Call& call) {
  const rows::Call c = call;
  if (c.dtype == scalar_type_of<A>) return softmaxShortRows<A, Log>(as<A>(c.out[0]), as<A>(c.in[0]), c.rows, c.n);
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
  if (c.dtype == scalar_type_of<A>)
    return softmaxBackwardRows<A, Log>(as<A>(c.out[0]), as<A>(c.in[0]), as<A>(c.in[1]), c.rows, c.n);
  A grad[kGroup], y[kGroup];
  const int64_t size = elementSize(c.dtype);
  forBuffers(c, [&](int64_t first, int64_t rows) __attribute__((always_inline)) {
    reduce::loadRow(grad, c.in[0] + first * size, c.dtype, rows * c.n);
    reduce::loadRow(y, c.in[1] + first * size, c.dtype, rows * c.n);
    softmaxBackwardRows<A, Log>(grad, grad, y, rows, c.n);
    reduce::storeRow(c.out[0] + first * size, grad, c.dtype, rows * c.n);
  });
}

rows::LoopFn genericSoftmax(ScalarType dtype, bool log) {
  if (dtype == kDouble) return log ? softmaxLoop<double, true> : softmaxLoop<double, false>;
  return log ? softmaxLoop<float, true> : softmaxLoop<float, false>;
}

rows::LoopFn genericSoftmaxBackward(ScalarType dtype, bool log) {
  if (dtype == kDouble) return log ? softmaxBackwardLoop<double, true> : softmaxBackwardLoop<double, false>;
  return log ? softmaxBackwardLoop<float, true> : softmaxBackwardLoop<float, false>;
}

}  // namespace shunt::nn
