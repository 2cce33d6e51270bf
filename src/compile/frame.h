// Frame: the tensors of one run of a plan. FramePool: where runs take their frames from, so that they needn't allocate.
#pragma once

#include <shunt/core/ivalue.h>

#include <atomic>
#include <span>
#include <vector>

namespace shunt::compiled {

/// Where a step finds a tensor.
struct Source {
  enum class Kind : uint8_t { kSlot, kInput, kConstant };
  Kind kind = Kind::kSlot;
  uint32_t index = 0;
};

struct Frame {
  std::vector<Tensor> slots;
  Stack stack;  // of the step that runs
  std::span<const Tensor> inputs;
  std::span<const Tensor> constants;

  const Tensor& at(Source s) const {
    if (s.kind == Source::Kind::kSlot) return slots[s.index];
    return s.kind == Source::Kind::kInput ? inputs[s.index] : constants[s.index];
  }
};

/// Any thread. One frame is kept: threads that run one plan at the same time take memory for theirs.
class FramePool {
 public:
  FramePool() = default;
  ~FramePool() { delete spare_.load(); }
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// A frame with so many empty slots; emptied and given back at the end, whatever ends the run.
  class Lease {
   public:
    Lease(FramePool& pool, size_t slots);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Frame& operator*() const { return *frame_; }
    Frame* operator->() const { return frame_; }

   private:
    FramePool& pool_;
    Frame* frame_;
  };

 private:
  std::atomic<Frame*> spare_{nullptr};  // owned; taken and left by exchange (acquire, release)
};

}  // namespace shunt::compiled
