#include "src/compile/frame.h"

#include <memory>

namespace shunt::compiled {

FramePool::Lease::Lease(FramePool& pool, size_t slots)
    : pool_(pool), frame_(pool.spare_.exchange(nullptr, std::memory_order_acquire)) {
  std::unique_ptr<Frame> mine(frame_ != nullptr ? frame_ : new Frame);
  if (mine->slots.size() < slots) mine->slots.resize(slots);
  frame_ = mine.release();
}

FramePool::Lease::~Lease() {
  for (Tensor& t : frame_->slots) t.reset();
  frame_->stack.clear();
  frame_->inputs = frame_->constants = {};
  delete pool_.spare_.exchange(frame_, std::memory_order_acq_rel);
}

}  // namespace shunt::compiled
