// Plan::Builder: decides for each operator of a program how a plan runs it, and where its results lie.
#pragma once

#include "plan.h"

#include <unordered_map>

namespace shunt_torch {

class Plan::Builder {
 public:
  Builder(Plan& plan, const Program& program, const std::vector<at::Tensor>& trace, Numerics numerics,
          std::set<size_t>& blocked);
  /// Why the program can't run so; empty where it can.
  std::string build();

 private:
  void findUses();
  void addCall(size_t i);
  void use(int64_t slot, size_t step);
  /// Whether an out= variant takes results of the recorded sizes and strides as they are.
  bool fits(const c10::OperatorHandle& out, size_t step, const std::vector<int64_t>& results) const;
  /// Whether a slot's memory is written again after it was made, or leaves.
  bool isWritten(int64_t slot) const;
  std::vector<int64_t> movingInputs() const;
  void fuse();
  void makeGroup(const std::vector<size_t>& members);
  void layOut();
  std::string outputsFit();
  Plan& plan_;
  const Program& program_;
  const std::vector<at::Tensor>& trace_;
  const Numerics numerics_;
  std::set<size_t>& blocked_;              // steps that can't be fused
  std::vector<std::vector<size_t>> uses_;  // by storage: steps that read or write it, or assign it as a grad
  std::vector<bool> written_;              // by storage: whether a step writes it that didn't make it
};

/// The overload that writes the results of an operator into tensors that are given, where it has a kernel of its own
/// for the CPU; none where there is none.
std::optional<c10::OperatorHandle> outVariantOf(const c10::OperatorHandle& op);

}  // namespace shunt_torch
