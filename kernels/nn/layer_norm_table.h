// The loops of layer_norm and its gradient, a table for every instruction set.
//
// Rows of n consecutive elements. A row's sums are those of its blocks, in order (kernels/rows/loop_table.h);
// parameters' gradients are added up row after row. Pure functions of their arguments; any thread.
#pragma once

#include <shunt/core/isa.h>

#include <cstdint>

namespace shunt::nn {

/// `weight` and `bias` are null where there are none.
template <class A>
struct NormForward {
  const A* weight;
  const A* bias;
  A* mean;  // for each row: its mean, and 1 / sqrt(variance + eps)
  A* rstd;
  int64_t n;
  A eps;
};

/// Gradients that nobody wants are null; `weight_grad` and `bias_grad` are added to.
template <class A>
struct NormBackward {
  const A* weight;
  A* weight_grad;
  A* bias_grad;
  int64_t n;
};

template <class A>
struct NormLoops {
  void (*forward)(const NormForward<A>& c, A* out, const A* x, int64_t row);
  void (*backward)(const NormBackward<A>& c, A* out, const A* grad, const A* x, A mean, A rstd);
};

struct NormTable {
  NormLoops<float> f;
  NormLoops<double> d;
};

namespace baseline {
extern const NormTable kNormTable;
}
namespace v3 {
extern const NormTable kNormTable;
}
namespace v4 {
extern const NormTable kNormTable;
}

template <class A>
const NormLoops<A>& normLoops() {
#define SHUNT_TABLE(isa) &isa::kNormTable
  static constexpr const NormTable* kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_TABLE);
#undef SHUNT_TABLE
  const NormTable& table = *kTables[static_cast<int>(detail::activeIsa())];
  if constexpr (sizeof(A) == sizeof(float))
    return table.f;
  else
    return table.d;
}

}  // namespace shunt::nn
