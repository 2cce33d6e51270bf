// CompiledFunctionBackward: the node of a compiled function's results (Note [Compiled backward passes],
// compiled_backward.h).
#pragma once

#include "src/compile/backward/compiled_backward.h"

#include <shunt/autograd/autograd.h>
#include <shunt/autograd/saved_variable.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace shunt::compiled {

/// Like any node, made on one thread; then several may run it.
class CompiledBackward::BackwardNode final : public Node {
 public:
  BackwardNode(std::shared_ptr<const CompiledBackward> of, Call call) : of_(std::move(of)), call_(std::move(call)) {
    set_unfolds();
  }
  ~BackwardNode() override { delete end_.load(std::memory_order_relaxed); }
  std::string name() const override { return "CompiledFunctionBackward"; }
  autograd::variable_list apply(autograd::variable_list&& grads) override;
  void release_variables() override;
  const autograd::Edge* unfolded() noexcept override;
  bool unfold(bool create_graph) noexcept override;

  /// Of what was made for these inputs, once the results have their history.
  void save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs, const StandIns* stand_ins);

 protected:
  void release_resources() override;
  const autograd::NodeHooks* own_hooks() const override { return hooks_.load(std::memory_order_acquire); }
  std::shared_ptr<autograd::NodeHooks> shared_hooks() override;

 private:
  autograd::variable_list runPass(const Pass& pass, Tensor gradient) const;
  /// For the gradients that this run of the engine has so far. Null: node by node.
  const Plan* planOf(const Pass& pass) const;
  template <class Run>
  bool runUnlessOther(const Run& run) const;
  autograd::variable_list runGraphAgain(const Tensor& gradient) const;
  autograd::variable_list contributionsAgain(const std::vector<Tensor>& given, const Tensor& gradient) const;
  std::vector<Tensor> resultsAgain(const std::vector<Tensor>& given) const;
  std::vector<Tensor> drawAgain(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> runInPlaces(const Graph& graph, const std::vector<Tensor>& inputs) const;
  Tensor firstResult() const;
  std::vector<Tensor> givenAgain() const;
  Tensor unpack(size_t i) const;
  bool runWantsAll() const;
  // For CompileCheck::kAlways (backward_check.cpp).
  bool isChecked() const { return of_->checks_; }
  void noteGiven(std::span<const Tensor* const> inputs);
  std::optional<autograd::variable_list> expected(const Pass& pass, const Tensor& gradient) const;
  void compare(const Pass& pass, const autograd::variable_list& got, const autograd::variable_list& expected) const;

  const std::shared_ptr<const CompiledBackward> of_;
  const Call call_;
  InlineVector<autograd::SavedVariable, 6> saved_;   // of_->sources_
  std::atomic<const autograd::Edge*> end_{nullptr};  // of what it was unfolded to; set once; owned
  std::atomic<bool> is_freed_{false};                // by a run that went through it while it was folded
  bool is_dying_ = false;
  std::mutex mutex_;  // of making hooks
  std::shared_ptr<autograd::NodeHooks> shared_hooks_;
  std::atomic<const autograd::NodeHooks*> hooks_{nullptr};  // the same, once made
  std::vector<uint64_t> hashes_;                            // of what the graph was given, where the pass is checked
};

}  // namespace shunt::compiled
