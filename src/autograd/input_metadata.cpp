#include <shunt/autograd/input_metadata.h>

#include <shunt/ops.h>

namespace shunt::autograd {

Tensor InputMetadata::zeros() const { return undefined_ ? Tensor() : shunt::zeros(sizes(), options()); }

}  // namespace shunt::autograd
