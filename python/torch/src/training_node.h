// TrainingNode: one call of a TrainingCall in autograd's graph.
#pragma once

#include "training_call.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <string>
#include <vector>

namespace shunt_torch {

class TrainingNode final : public torch::autograd::Node {
 public:
  /// An edge for each input, those of inputs that need no grad invalid.
  TrainingNode(std::shared_ptr<TrainingCall> call, torch::autograd::edge_list&& edges);
  /// Keeps tensors and numbers of the forward graph; results among them have this node already.
  void save(const std::vector<at::Tensor>& checked, std::vector<at::Tensor> unchecked,
            std::vector<c10::IValue> numbers);

  /// As AOTAutograd's nodes are called.
  std::string name() const override { return "CompiledFunctionBackward"; }
  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override;
  void release_variables() override;

 private:
  std::vector<at::Tensor> unpack();
  std::shared_ptr<TrainingCall> call_;
  // Guarded by Node's mutex_.
  std::vector<torch::autograd::SavedVariable> saved_;
  std::vector<at::Tensor> unchecked_;
  bool is_released_ = false;

  std::vector<c10::IValue> numbers_;  // constant
};

}  // namespace shunt_torch
