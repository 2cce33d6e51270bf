// Frame: the tensors of one run of a plan. A local value of the run, on its thread.
#pragma once

#include "src/dispatch/changes.h"

#include <shunt/core/call_stack.h>

#include <memory>
#include <optional>
#include <span>

namespace shunt::compiled {

/// Where a step finds a tensor.
struct Source {
  enum class Kind : uint8_t { kSlot, kInput, kConstant };
  Kind kind = Kind::kSlot;
  uint32_t index = 0;
  bool operator==(const Source&) const = default;
};

class Frame {
 public:
  /// `used`: the slots before may be filled; all of them after useAll().
  Frame(size_t slots, size_t used, std::span<const Tensor* const> given, std::span<const Tensor> kept)
      : inputs(given), constants(kept), slots_(few()), count_(slots), used_(used) {
    if (slots > kFew) slots_ = std::allocator<Tensor>().allocate(slots);
    std::uninitialized_value_construct_n(slots_, slots);
  }
  ~Frame() {
    std::destroy_n(slots_, used_);
    if (slots_ != few()) std::allocator<Tensor>().deallocate(slots_, count_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void useAll() { used_ = count_; }

  /// The run's tables have been compared at this many `table_changes`, on a thread where nothing sees single operators.
  void allowQuick(uint64_t changes) {
    quick_ = true;
    changes_ = changes;
  }
  /// Whether kernels that stand in the tables may be run without asking these: nothing was registered since.
  // As a call's own look at its table, the load is acquire: a registration that has returned is seen.
  bool mayBeQuick() const {
    return quick_ && detail::table_changes.load(std::memory_order_acquire) == changes_ &&
           !detail::trace_enabled.load(std::memory_order_relaxed);
  }

  const Tensor none;  // undefined

  Tensor& slot(size_t i) { return slots_[i]; }
  const Tensor& at(Source s) const {
    if (s.kind == Source::Kind::kSlot) return slots_[s.index];
    return s.kind == Source::Kind::kInput ? *inputs[s.index] : constants[s.index];
  }
  /// Of the step that runs.
  Stack& stack() {
    if (!call_stack_) call_stack_.emplace(kRoom);
    return **call_stack_;
  }

 private:
  static constexpr size_t kFew = 64;   // that need no memory of their own
  static constexpr size_t kRoom = 16;  // values

  Tensor* few() { return reinterpret_cast<Tensor*>(memory_); }

  std::span<const Tensor* const> inputs;
  std::span<const Tensor> constants;
  alignas(Tensor) std::byte memory_[kFew * sizeof(Tensor)];
  Tensor* slots_;
  size_t count_, used_;
  uint64_t changes_ = 0;
  bool quick_ = false;
  std::optional<boxing::CallStack> call_stack_;  // few frames have a step that is called boxed
};

}  // namespace shunt::compiled
