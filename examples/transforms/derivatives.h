// Further transforms: vjp, gradients by several arguments, random operators in a batch, and transforms in graphs.
#pragma once

namespace examples {

/// vjp, value_and_grad, grad by several arguments, and vmap in chunks.
void products();
/// Random operators inside vmap: refused, the same for each sample, or different.
void randomness();
/// compile and trace around vmap and grad.
void combined();

}  // namespace examples
