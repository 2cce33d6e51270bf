// CompiledFunctionBackward: the node of a compiled function's results (Note [Compiled backward passes],
// compiled_backward.h).
#pragma once

#include "src/compile/backward/compiled_backward.h"

#include <shunt/autograd/autograd.h>
#include <shunt/autograd/saved_variable.h>

namespace shunt::compiled {

/// Like any node, made on one thread; then several may run it.
class CompiledBackward::BackwardNode final : public Node {
 public:
  explicit BackwardNode(std::shared_ptr<const CompiledBackward> of) : of_(std::move(of)) {}
  std::string name() const override { return "CompiledFunctionBackward"; }
  autograd::variable_list apply(autograd::variable_list&& grads) override;
  void release_variables() override;

  /// Of what was made for these inputs, once the results have their history.
  void save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs, const Drawn& drawn);

 private:
  autograd::variable_list runPass(const Pass& pass, Tensor gradient) const;
  autograd::variable_list runGraphAgain(const Tensor& gradient) const;
  std::vector<Tensor> resultsAgain(const std::vector<Tensor>& given) const;
  std::vector<Tensor> drawAgain(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> givenAgain() const;
  Tensor unpack(size_t i) const;
  bool runWantsAll() const;

  const std::shared_ptr<const CompiledBackward> of_;
  InlineVector<autograd::SavedVariable, 6> saved_;  // of_->sources_
  Drawn drawn_;
};

}  // namespace shunt::compiled
