// Fake tensors (shunt/transforms/fake_tensor.h) as the layers below src/transforms know them. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt {

/// Whether `t`, which is defined, has no elements because it is fake.
inline bool isFake(const Tensor& t) { return t.key_set().has(Functionality::Fake); }

}  // namespace shunt
