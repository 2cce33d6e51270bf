// The functions that bench_compile measures once more, each written by hand: loops over the scalar functions that
// Shunt's operators are made of, products by the call that Shunt's products make, and tensors for nothing but what
// leaves the function. Results are the operators' to the bit. One thread.
//
// Arguments and results are those of the row's function (rows.cpp).
#pragma once

#include <shunt/shunt.h>

#include <vector>

namespace bench::twins {

using shunt::Tensor;
using Tensors = std::vector<Tensor>;

Tensors chain(const Tensors& t);
/// Sets the grads of `leaves`.
void chainBackward(const Tensors& leaves, const Tensor& grad);

Tensors productBiasGelu(const Tensors& t);
Tensors linearGelu(const Tensors& t);
Tensors norm(const Tensors& t);
Tensors attention(const Tensors& t);

/// Of parameters w1, b1, w2, b2 of the digits' perceptron.
Tensors digitsStep(const Tensors& parameters, const Tensors& batch, double learning_rate);
void adamStep(const Tensors& parameters, const Tensors& mean, const Tensors& square, const Tensors& grads);
Tensors oscillator(const Tensors& t, double step);

}  // namespace bench::twins
