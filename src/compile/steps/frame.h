// Frame: the tensors of one run of a plan. A local value of the run, on its thread.
#pragma once

#include "src/autograd/storage_and_grad.h"
#include "src/dispatch/changes.h"

#include <shunt/core/call_stack.h>
#include <shunt/tensor/allocator.h>

#include <memory>
#include <optional>
#include <span>

namespace shunt::compiled {

/// Where a step finds a tensor, or its elements alone.
struct Source {
  enum class Kind : uint8_t { kSlot, kInput, kConstant, kBuffer, kInputGrad, kConstantGrad };
  Kind kind = Kind::kSlot;
  uint32_t index = 0;                                       // of a buffer: where it begins, in kBufferAlignment
  bool isGrad() const { return kind >= Kind::kInputGrad; }  // of the input or constant
  bool operator==(const Source&) const = default;
};

inline constexpr size_t kBufferAlignment = detail::kBlockAlignment;  // bytes

class Frame {
 public:
  /// `used`: the slots before may be filled; all of them after useAll().
  Frame(size_t slots, size_t used, std::span<const Tensor* const> given, std::span<const Tensor> kept)
      : inputs(given), constants(kept), slots_(few()), count_(slots), used_(used) {
    if (slots > kFew) slots_ = std::allocator<Tensor>().allocate(slots);
    std::uninitialized_value_construct_n(slots_, slots);
  }
  ~Frame() {
    if (block_ != nullptr) detail::freeBlock(block_, block_bytes_);
    std::destroy_n(slots_, used_);
    if (slots_ != few()) std::allocator<Tensor>().deallocate(slots_, count_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void useAll() { used_ = count_; }

  /// Memory of so many bytes for what needs no tensors in this run (Note [Buffers], program/buffers.h).
  void openBuffers(size_t bytes) {
    if (bytes > kNear) block_ = static_cast<std::byte*>(detail::allocateBlock(block_bytes_ = bytes));
    buffers_ = block_ != nullptr ? block_ : near_;
  }
  bool hasBuffers() const { return buffers_ != nullptr; }
  /// From here on tensors are in their places.
  void closeBuffers() { buffers_ = nullptr; }
  std::byte* buffer(uint32_t index) const { return buffers_ + size_t{index} * kBufferAlignment; }

  /// The run's tables have been compared at this many `table_changes`.
  void setChecked(uint64_t changes) { checked_at_ = begun_at_ = changes; }
  /// The run, which looks at the tables itself, has begun at this many.
  void setBegun(uint64_t changes) { begun_at_ = changes; }
  /// Whether something was registered since the run began.
  bool hasOtherKernels() const { return detail::table_changes.load(std::memory_order_acquire) != begun_at_; }
  /// Whether nothing was registered since. Acquire, as in a call's own look at its table: a registration that has
  /// returned is seen.
  bool isUnchanged() const { return detail::table_changes.load(std::memory_order_acquire) == checked_at_; }
  /// The thread is one where nothing sees single operators.
  void allowQuick() { quick_at_ = checked_at_; }
  /// Whether kernels that stand in the tables may be run without asking these.
  bool mayBeQuick() const { return detail::table_changes.load(std::memory_order_acquire) == quick_at_; }

  const Tensor none;  // undefined

  Tensor& slot(size_t i) { return slots_[i]; }
  const Tensor& given(int i) const { return *inputs[static_cast<size_t>(i)]; }
  const Tensor& at(Source s) const {
    if (s.kind == Source::Kind::kSlot) return slots_[s.index];
    if (s.isGrad()) return gradOf(s.kind == Source::Kind::kInputGrad ? *inputs[s.index] : constants[s.index]);
    return s.kind == Source::Kind::kInput ? *inputs[s.index] : constants[s.index];
  }
  /// Of the step that runs.
  Stack& stack() {
    if (!call_stack_) call_stack_.emplace(kRoom);
    return **call_stack_;
  }

 private:
  static constexpr size_t kFew = 64;                 // that need no memory of their own
  static constexpr size_t kRoom = 16;                // values
  static constexpr size_t kNear = size_t{4} * 1024;  // bytes of buffers that need no memory of their own

  const Tensor& gradOf(const Tensor& leaf) const {
    const Tensor* grad = autograd::gradOf(leaf);
    return grad != nullptr ? *grad : none;
  }
  Tensor* few() { return reinterpret_cast<Tensor*>(memory_); }

  std::span<const Tensor* const> inputs;
  std::span<const Tensor> constants;
  alignas(kBufferAlignment) std::byte near_[kNear];
  alignas(Tensor) std::byte memory_[kFew * sizeof(Tensor)];
  Tensor* slots_;
  size_t count_, used_;
  uint64_t checked_at_ = ~uint64_t{0}, quick_at_ = ~uint64_t{0}, begun_at_ = ~uint64_t{0};  // never table_changes
  std::byte* buffers_ = nullptr;
  std::byte* block_ = nullptr;  // what they lie in, where that isn't near_
  size_t block_bytes_ = 0;
  std::optional<boxing::CallStack> call_stack_;  // few frames have a step that is called boxed
};

}  // namespace shunt::compiled
