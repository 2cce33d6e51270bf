// What FunctionalizeCheckGuard sees of the operators that a call makes in its kernels. For one thread.
#pragma once

#include <shunt/core/op_state.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/tensor/tensor.h>

#include <unordered_map>

namespace shunt::functional {

/// The storages that checked calls were given or returned: memory of the program, not of kernels.
class ProgramStorages {
 public:
  void add(const Tensor& t);
  bool has(const Storage& storage) const { return known_.contains(storage.get()); }
  void clear() { known_.clear(); }

 private:
  std::unordered_map<const StorageImpl*, weak_intrusive_ptr<StorageImpl>>
      known_;  // weak: keeps the address from being used again
  size_t sweep_at_ = 64;
};

/// A mode that stays on in what its handler calls: throws when an operator that reaches the dispatcher in the kernels
/// of `outer` writes to the program's memory.
class Watch final : public DispatchMode {
 public:
  Watch(const OperatorHandle& outer, const ProgramStorages& program) : outer_(outer), program_(program) {}
  void handle(const OperatorHandle& op, Stack* stack) override;
  std::string name() const override { return "FunctionalizeCheckGuard"; }
  bool results_may_differ() const override { return true; }  // they are the operator's

 private:
  OperatorHandle outer_;
  const ProgramStorages& program_;
};

}  // namespace shunt::functional
