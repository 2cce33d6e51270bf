#include "bench/compile/twins.h"

#include "bench/compile/twin_loops.h"
#include "kernels/linalg/gemm.h"

#include <shunt/core/isa.h>

#include <cstring>

namespace bench::twins {
namespace {

using shunt::linalg::gemm;
using shunt::linalg::MatrixView;

#define BENCH_LOOPS(isa) &isa::kLoops
const Loops* const kLoopsOfIsa[shunt::kNumIsas] = SHUNT_PER_ISA(BENCH_LOOPS);
#undef BENCH_LOOPS

const Loops& loops() { return *kLoopsOfIsa[static_cast<int>(shunt::detail::activeIsa())]; }

float* data(const Tensor& t) { return t.data_ptr<float>(); }

/// Each row becomes `row`.
void fillRows(float* out, const float* row, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) std::memcpy(out + i * columns, row, static_cast<size_t>(columns) * sizeof(float));
}

/// out = x w^T + b, for a weight of columns x k.
void linear(float* out, const float* x, const float* w, const float* b, int64_t rows, int64_t columns, int64_t k) {
  fillRows(out, b, rows, columns);
  gemm<float>(rows, columns, k, 1, {x, k, false}, {w, k, true}, 1, out, columns);
}

/// out = grad^T x: the gradient of such a weight.
void weightGradient(float* out, const float* grad, const float* x, int64_t rows, int64_t columns, int64_t k) {
  const MatrixView<float> transposed = {grad, rows > 1 ? columns : 1, rows > 1};
  gemm<float>(columns, k, rows, 1, transposed, {x, k, false}, 0, out, k);
}

Tensor setGrad(const Tensor& parameter) {
  Tensor grad = shunt::empty(parameter.sizes());
  Tensor(parameter).mutable_grad() = grad;
  return grad;
}

}  // namespace

Tensors chain(const Tensors& t) {
  Tensor out = shunt::empty(t[0].sizes());
  loops().chain(data(out), data(t[0]), data(t[1]), data(t[2]), out.numel());
  return {out};
}

void chainBackward(const Tensors& leaves, const Tensor& grad) {
  float* const grads[] = {data(setGrad(leaves[0])), data(setGrad(leaves[1])), data(setGrad(leaves[2]))};
  loops().chain_gradients(grads, data(grad), data(leaves[0]), data(leaves[1]), data(leaves[2]), grad.numel());
}

Tensors productBiasGelu(const Tensors& t) {
  const int64_t rows = t[0].size(0), k = t[0].size(1), columns = t[1].size(1);
  Tensor out = shunt::empty({rows, columns});
  gemm<float>(rows, columns, k, 1, {data(t[0]), k, false}, {data(t[1]), columns, false}, 0, data(out), columns);
  loops().bias_gelu(data(out), data(t[2]), rows, columns);
  return {out};
}

Tensors linearGelu(const Tensors& t) {
  const int64_t rows = t[0].size(0), columns = t[1].size(0);
  Tensor out = shunt::empty({rows, columns});
  linear(data(out), data(t[0]), data(t[1]), data(t[2]), rows, columns, t[0].size(1));
  loops().gelu(data(out), out.numel());
  return {out};
}

Tensors norm(const Tensors& t) {
  Tensor out = shunt::empty(t[0].sizes());
  loops().norm(data(out), data(t[0]), data(t[1]), data(t[2]), data(t[3]), out.size(0), 1e-5F);
  return {out};
}

Tensors attention(const Tensors& t) {
  const int64_t rows = t[0].size(0), k = t[0].size(1), columns = t[1].size(0);
  Tensor out = shunt::empty({rows, columns});
  gemm<float>(rows, columns, k, 1, {data(t[0]), k, false}, {data(t[1]), k, true}, 0, data(out), columns);
  loops().masked_softmax(data(out), 8, data(t[2]), rows, columns);
  return {out};
}

Tensors digitsStep(const Tensors& parameters, const Tensors& batch, double learning_rate) {
  constexpr int64_t kMostHidden = 128;
  alignas(64) float h[kMostRows * kMostHidden], grad_h[kMostRows * kMostHidden], z[kMostRows * kClasses];
  const Tensor &w1 = parameters[0], &b1 = parameters[1], &w2 = parameters[2], &b2 = parameters[3];
  const int64_t rows = batch[0].size(0), pixels = w1.size(1), hidden = w1.size(0);
  const float* const x = data(batch[0]);
  const Loops& l = loops();

  linear(h, x, data(w1), data(b1), rows, hidden, pixels);
  l.relu(h, rows * hidden);
  linear(z, h, data(w2), data(b2), rows, kClasses, hidden);
  Tensor loss = shunt::empty({});
  *data(loss) = l.loss(z, batch[1].data_ptr<int64_t>(), rows);

  const Tensor grads[] = {setGrad(w1), setGrad(b1), setGrad(w2), setGrad(b2)};
  weightGradient(data(grads[2]), z, h, rows, kClasses, hidden);
  l.column_sums(data(grads[3]), z, rows, kClasses);
  gemm<float>(rows, hidden, kClasses, 1, {z, kClasses, false}, {data(w2), hidden, false}, 0, grad_h, hidden);
  l.relu_gradient(grad_h, h, rows * hidden);
  weightGradient(data(grads[0]), grad_h, x, rows, hidden, pixels);
  l.column_sums(data(grads[1]), grad_h, rows, hidden);
  for (size_t i = 0; i < parameters.size(); ++i)
    l.update(data(parameters[i]), data(grads[i]), grads[i].numel(), static_cast<float>(-learning_rate));
  return {loss};
}

void adamStep(const Tensors& parameters, const Tensors& mean, const Tensors& square, const Tensors& grads) {
  constexpr AdamNumbers kNumbers = {0.9F, 0.1F, 0.999F, 0.001F, 0.9F, 1e-8F, -0.001F};
  for (size_t i = 0; i < grads.size(); ++i)
    loops().adam(data(parameters[i]), data(mean[i]), data(square[i]), data(grads[i]), grads[i].numel(), kNumbers);
}

Tensors oscillator(const Tensors& t, double step) {
  Tensor x = shunt::empty(t[0].sizes()), y = shunt::empty(t[0].sizes());
  loops().oscillator(data(x), data(y), data(t[0]), data(t[1]), x.numel(), step);
  return {x, y};
}

}  // namespace bench::twins
