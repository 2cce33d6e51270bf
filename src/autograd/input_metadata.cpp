#include <shunt/autograd/input_metadata.h>

#include <shunt/ops.h>

#include <algorithm>

namespace shunt::autograd {

void InputMetadata::describeMany(const TensorImpl& t) {
  const IntArrayRef sizes = t.sizes();
  auto* heap = new int64_t[sizes.size()];
  std::copy(sizes.begin(), sizes.end(), heap);
  heap_ = heap;
  describeRest(t, sizes.size());
}

Tensor InputMetadata::zeros() const { return undefined_ ? Tensor() : shunt::zeros(sizes(), options()); }

}  // namespace shunt::autograd
