// Which of a tensor's keys decide how a graph's steps may read it.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::compiled {

/// Keys by which it is seen whether a tensor's elements may be read directly; Autograd's and Autocast's don't
/// matter to that.
inline uint64_t keysThatMatter(const TensorImpl& t) {
  return t.key_set().raw() & ~(kAutogradAndViewKeys | kAutocastKeys).functionalities().raw();
}
inline uint64_t keysThatMatter(const Tensor& t) { return keysThatMatter(*t.unsafeGetTensorImpl()); }

/// Those of an ordinary dense tensor on the CPU.
inline constexpr DispatchKeySet kPlainCpu =
    DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(BackendComponent::CPU);
inline bool hasPlainKeys(const Tensor& t) { return keysThatMatter(t) == kPlainCpu.raw(); }

}  // namespace shunt::compiled
