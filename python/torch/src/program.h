// Program: the operators of a recorded call, called again through PyTorch's dispatcher, below autograd.
//
// Note [Slots]
// A program computes with numbered tensors, its slots. The first are its inputs; each operator fills new ones. An
// operator that writes in place fills a slot with the tensor that it wrote. A slot is emptied after its last use, so
// that memory is used again as it is in eager code.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shunt_torch {

/// Which arguments, by position, an operator writes in training though its schema doesn't say so.
std::vector<size_t> unannotatedWrites(const std::string& name);

/// Stands for a slot in the arguments of Program::call.
struct Slot {
  int64_t index;
};

class Program {
 public:
  /// A new input. All are added before the first operator.
  int64_t addInput();
  size_t inputs() const { return inputs_; }
  size_t slots() const { return slots_; }
  size_t steps() const { return steps_.size(); }

  /// An operator by its name, "aten::add", and overload, "Tensor". In `args` and `kwargs` a Slot stands for a tensor, a
  /// tensor for itself: a constant, which the operator mustn't write.
  /// Returns the slot of each result, those of lists one after the other; -1 for an undefined tensor, as `results`, the
  /// recorded ones, say. An operator on a list of tensors becomes one for each where it is such a loop on the CPU.
  std::vector<int64_t> call(const std::string& name, const std::string& overload, const py::tuple& args,
                            const py::dict& kwargs, const std::vector<std::vector<bool>>& results,
                            const std::string& where);
  /// That the last operator's result, a bool or number, is this one; another one ends the run. Grads that were assigned
  /// before are assigned after this.
  void expect(bool value);
  /// From the operator that is added next on, memory from outside is written or numbers are drawn.
  void touch() { next_.touches = true; }
  /// The operator that is added next draws numbers.
  void draw() { next_.draws = true; }
  /// Whether a run draws numbers.
  bool draws() const;
  /// Whether numbers may have been drawn where a run ends early without having changed anything else.
  bool drawsWhileHarmless() const { return draws_while_harmless_; }
  /// The operator that is added next writes the storage of this input.
  void wrote(int64_t input) { next_.writes.push_back(input); }
  /// How often steps before this one write it.
  int64_t writesBefore(size_t step, int64_t input) const;
  /// An input that is read alone, and may lie anywhere in a storage that it shares with others.
  void addMoving(int64_t input) { moving_.push_back(input); }
  /// Steps at the beginning that change nothing outside: where one of them throws, the call can begin again.
  size_t harmlessSteps() const { return harmless_; }
  /// Gives input `input` the grad in this slot, or None.
  void assignGrad(int64_t input, std::optional<int64_t> slot);
  /// An output; it lives on after a run.
  void addOutput(int64_t slot);
  /// After all is added: finds out when slots are emptied. `views`: slots that operators have to make as eager code
  /// does, with what a view knows of its base.
  void finish(const std::vector<int64_t>& views);

  struct Run {
    std::vector<at::Tensor> slots;             // inputs first; outputs are there after the run
    std::vector<at::Tensor>* grads = nullptr;  // where set: grads go there, by input, and not to the inputs
    std::vector<bool>* has_grad = nullptr;
    /// Called before each operator and after it (true).
    std::function<void(size_t step, bool is_done)> observer = {};
    bool keep = false;  // no slot is emptied
    size_t step = 0;    // the one that ran last
  };
  /// False where an expected value was another one: nothing outside was written before that.
  bool run(Run& run) const;
  /// "aten::mm", and where it was recorded: for messages.
  const std::string& nameOf(size_t step) const { return steps_[step].name; }
  const std::string& whereOf(size_t step) const { return steps_[step].where; }
  const std::vector<int64_t>& outputs() const { return outputs_; }
  const c10::OperatorHandle& operatorOf(size_t step) const { return *steps_[step].op; }
  /// Slots that a step reads.
  std::vector<int64_t> slotsOf(size_t step) const;
  /// Slots that a step fills, in order.
  std::vector<int64_t> resultsOf(size_t step) const;
  /// Slots that its schema says are written, in the order of the arguments.
  std::vector<int64_t> writtenBy(size_t step) const;
  /// The arguments of a step, as its operator is called with: tensors by slot, then those of `outs`.
  torch::jit::Stack stackOf(size_t step, const std::vector<at::Tensor>& tensors,
                            const std::vector<int64_t>& outs = {}) const;
  py::list describe() const;

 private:
  friend class FusedGroup;
  friend class Plan;
  enum class Kind : uint8_t { kCall, kAssignGrad };
  enum class Place : uint8_t { kLiteral, kSlot, kList, kOptionalList };
  struct Argument {
    Place place;
    c10::IValue literal = {};
    std::vector<int64_t> slots = {};  // -1: None
  };
  struct Effects {
    bool touches = false, draws = false;
    std::vector<int64_t> writes = {};  // the first input on each storage
  };
  struct Step {
    Kind kind;
    std::string name, where;
    std::optional<c10::OperatorHandle> op = {};
    std::vector<Argument> arguments = {};
    std::vector<std::vector<int64_t>> results = {};  // by return; -1: undefined
    std::vector<int64_t> dead = {};
    std::optional<bool> expected = {};
    bool as_eager = false;          // a view for outside
    bool grad_mode = true;          // when it was recorded: views and operators of others ask for it
    int64_t input = -1, slot = -1;  // of kAssignGrad
    Effects effects = {};           // on what is outside
  };
  Argument argumentOf(const c10::Argument& schema, const py::handle& value) const;
  /// _foreach_norm, whose kernel on the CPU is a loop of this kind.
  std::vector<int64_t> callNorms(const py::tuple& args, const py::dict& kwargs,
                                 const std::vector<std::vector<bool>>& results, const std::string& where);
  int64_t newSlot() { return static_cast<int64_t>(slots_++); }
  std::vector<Step> steps_;
  std::vector<int64_t> outputs_, moving_;
  size_t inputs_ = 0, slots_ = 0, harmless_ = 0;
  bool draws_while_harmless_ = false;
  Effects next_;  // of the operator that is added next
};

}  // namespace shunt_torch
