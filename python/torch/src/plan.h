// Plan: a program made ready to run again and again, in memory that stands.
//
// Note [Standing tensors]
// For each slot of a program the plan has a tensor of its own, a stand-in without history, over a storage whose address
// is set: for inputs to that of each call's, for results that leave to new memory, for all else once, in one block.
// Views need no call, since they look at the storage of a stand-in; results are written in place by the out= variants
// that have a kernel on the CPU. Of an operator without one, the result that it makes lends its memory to the stand-in.
// Calls that run at once have a context each, which are kept for later ones.
#pragma once

#include "fused.h"
#include "program.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace shunt_torch {

/// How long PyTorch's operators took.
struct HostTime {
  std::chrono::nanoseconds sum{0};
  int64_t calls = 0;
};

class Plan {
 public:
  /// `trace`: a tensor for each slot, from one run of the program. Null where the program can't run so, with the reason
  /// in `why`.
  static std::shared_ptr<Plan> make(const Program& program, const std::vector<at::Tensor>& trace, Numerics numerics,
                                    std::string& why);
  ~Plan();

  struct Run {
    const std::vector<at::Tensor>& inputs;
    std::vector<at::Tensor>* grads = nullptr;  // where set: grads go there, by input, and not to the inputs
    std::vector<bool>* has_grad = nullptr;
    std::vector<at::Tensor> outputs = {};  // after the run
    size_t step = 0;                       // the one that ran last
    HostTime* host_time = nullptr;         // where set: what PyTorch's operators take is added
  };
  /// False where an expected value was another one. The GIL is held, and let go of for the run.
  bool run(Run& run);
  /// A tensor for each slot, of its sizes, strides and dtype, without memory.
  std::vector<at::Tensor> shapes() const;
  /// (place, name, line) for each step: "host", "view", "fused", "assign".
  py::list describe() const;
  /// For each group of fused operators what its plan does, a line each: loops, prepared operators, calls.
  std::vector<std::string> groups() const;

 private:
  struct Context;
  class Builder;
  struct Storage {
    enum class Kind : uint8_t { kInput, kOutput, kInside, kLent } kind = Kind::kInside;
    int64_t input = -1;  // of kInput
    size_t bytes = 0;
    size_t offset = 0;           // of kInside, in the block; of kInput, where that input began when it was recorded
    size_t first = 0, last = 0;  // steps
    int64_t lender = -1;         // of kLent: the slot whose result it is
  };
  struct Slot {
    int32_t storage = -1;  // -1: undefined
    at::Tensor like;       // sizes, strides, dtype
  };
  struct Place {
    size_t storage, offset;  // in bytes
  };
  enum class Kind : uint8_t { kCall, kView, kFused, kAssignGrad };
  struct Step {
    Kind kind;
    size_t of = 0;  // in the program
    std::optional<c10::OperatorHandle> op = {};
    std::vector<int64_t> outs = {};               // slots of an out= variant's results
    std::vector<std::vector<int64_t>> lent = {};  // by return: slots that a result lends its memory to, or -1
    std::optional<bool> expected = {};
    bool has_optional_lists = false;
    int64_t constant = -1;                   // the slot of a result that is the same in each run
    std::shared_ptr<FusedGroup> group = {};  // of kFused; its members follow as steps without one, which do nothing
    std::vector<Place> from = {}, to = {};   // the group's memory
    int64_t input = -1, slot = -1;
  };
  std::unique_ptr<Context> take();
  bool runSteps(Context& c, Run& run) const;
  void makeViews(Context& c, const Run& run) const;
  at::Tensor real(Context& c, int64_t slot, const Run& run) const;

  const Program* program_ = nullptr;
  std::vector<Storage> storages_;
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<int64_t> outputs_;
  std::vector<size_t> views_;  // steps of the program that make results which are views
  size_t block_ = 0;
  std::vector<std::unique_ptr<Context>> free_;
};

}  // namespace shunt_torch
