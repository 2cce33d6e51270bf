// item()'s view into the layers above. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::detail {

/// Whether `t` shows a sample of a vmap's batch, at any depth of levels, and so has no one number. Defined in
/// src/transforms.
bool showsSample(const Tensor& t);
/// `t`, which such a sample's number picked, is a copy, where a number picks a view: writing to it is an error from
/// here on. Defined in src/transforms.
void markPicked(const Tensor& t);

}  // namespace shunt::detail
