// A program that runs, step by step. One thread.
#pragma once

#include "tests/programs/program.h"

namespace programs {

/// What is left of slots, the first of which hold the inputs.
void readSlots(const std::vector<Tensor>& slots, size_t inputs, const World& world, Outcome& out);

using Nodes = std::vector<shunt::intrusive_ptr<shunt::Node>>;

/// Frees what the nodes before these tensors have saved, so that in-place cycles don't keep it: Note [In-place cycles].
void releaseGraphs(const std::vector<Tensor>& tensors);
/// The same for these nodes, and those before them.
void releaseGraphs(Nodes nodes);

class Execution {
 public:
  Execution(const std::vector<Input>& inputs, const World& world);
  /// With these tensors in the first slots.
  Execution(std::vector<Tensor> inputs, const World& world);
  /// Frees what the nodes before tensors changed in place have saved: see Note [In-place cycles].
  ~Execution();
  /// The message where it throws; the slot that it would have filled holds nothing then.
  std::string take(const Step& step);
  /// Leaves its slot empty.
  void skip(const Step& step);
  std::string differentiate(int root);
  void read(Outcome& out) const;

  const std::vector<Tensor>& slots() const { return slots_; }
  /// The nodes of tensors changed in place, for a caller who goes on with them: releaseGraphs() is the caller's then.
  Nodes takeGraphs();
  void dropLastSlot() { slots_.pop_back(); }

 private:
  void run(const Step& step);

  const World& world_;
  size_t inputs_;
  std::vector<Tensor> slots_;
  Nodes changed_;  // of what was changed in place
};

}  // namespace programs
