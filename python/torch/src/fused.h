// FusedGroup: neighbouring operators of a program as one plan of Shunt's, which in exact mode has PyTorch's bits.
//
// Note [Exact]
// An operator that rounds once has the same bits everywhere, and is fused as it is. One that rounds more than once is
// fused in the form that PyTorch's kernel has on this CPU: with AVX2 and AVX-512 `add` with alpha is one fused
// multiply-add, without them it rounds twice (`torch.backends.cpu.get_cpu_capability()` says which). All others are
// left to PyTorch's own kernels. tests/torch/test_exact.py compares each with PyTorch's, for all lengths up to 70,
// strided, and for special values.
#pragma once

#include "fused_rules.h"
#include "program.h"

#include <shunt/compile/host_plan.h>

#include <set>

namespace shunt_torch {

class FusedGroup {
 public:
  /// Whether an operator of this name may be fused, for these tensors; `step` is one of the program's.
  static bool canFuse(const Program& program, size_t step, const std::vector<at::Tensor>& trace, Numerics numerics);
  /// `steps`: of the program, in order, views among them. `used_later`: by slot, whether something outside of the group
  /// reads it. An operator that Shunt refuses is put into `blocked`, and the group is null.
  static std::shared_ptr<FusedGroup> make(const Program& program, const std::vector<size_t>& steps,
                                          const std::vector<at::Tensor>& trace, const std::vector<bool>& used_later,
                                          Numerics numerics, std::set<size_t>& blocked);
  /// Slots whose addresses run() wants: what it reads or writes in place, and its results.
  const std::vector<int64_t>& inputs() const { return inputs_; }
  const std::vector<int64_t>& results() const { return results_; }
  void run(std::span<void* const> inputs, std::span<void* const> results) const { plan_.run(inputs, results); }
  std::string describe() const { return plan_.describe(); }

 private:
  class Maker;
  static bool isTooMuch(const FusedRule& rule, const Program& program, size_t step,
                        const std::vector<at::Tensor>& trace);
  shunt::HostPlan plan_;
  std::vector<int64_t> inputs_, results_;
};

}  // namespace shunt_torch
