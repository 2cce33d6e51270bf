// The fake tensors on which Functionalize tries what a writing operator does (Note [Functional tensors]), and dispatch
// modes what an operator returns. For one call.
#pragma once

#include "src/transforms/functionalize/functional_tensor.h"

#include <shunt/transforms/fake_tensor.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::functional {

class Twins {
 public:
  /// A fake tensor like `t`, for which `value` stands below; the same one every time. `f` is null for a tensor that
  /// isn't functional.
  Tensor of(const Tensor& t, const FunctionalTensor* f, const Tensor& value);

 private:
  Tensor twinOf(const Tensor& value);
  Tensor lookalike(const Tensor& value);

  FakeTensorConverter converter_;
  std::vector<std::pair<Tensor, Tensor>> known_;
  std::unordered_map<const StorageImpl*, Storage> storages_;  // of lookalikes
};

}  // namespace shunt::functional
