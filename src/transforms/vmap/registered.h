// Kernels of the library's own for the keys of levels, of operators that would do with the fallbacks, which stay their
// boxed form. Registered once, with the dictionary.
#pragma once

#include "src/transforms/vmap/in_grad.h"

#include <span>

namespace shunt::levels {

struct LevelKernel {
  const Operator* symbol;
  void* batched;  // unboxed
  void* back;     // for TransformBack; null: the fallback
  const CppSignature& (*signature)();
};

template <class Op, auto Batched>
LevelKernel kernelFor() {
  void* back = nullptr;
  if constexpr (InGrad<Op>::kKnows) back = reinterpret_cast<void*>(&InGrad<Op>::back);
  return {&Op::symbol, reinterpret_cast<void*>(Batched), back, &CppSignature::of<typename Op::Schema>};
}

void registerKernels(std::span<const LevelKernel> kernels);

}  // namespace shunt::levels
