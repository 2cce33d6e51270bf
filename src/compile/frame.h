// Frame: the tensors of one run of a plan. A local value of the run, on its thread.
#pragma once

#include <shunt/core/call_stack.h>

#include <memory>
#include <span>
#include <vector>

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
  Frame(size_t slots, std::span<const Tensor* const> given, std::span<const Tensor> kept)
      : inputs(given), constants(kept), many_(slots > kFew ? slots : 0), count_(slots), call_stack_(kRoom) {
    if (slots <= kFew) std::uninitialized_value_construct_n(few(), slots);
  }
  ~Frame() {
    if (count_ <= kFew) std::destroy_n(few(), count_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Tensor none;  // undefined

  Tensor& slot(size_t i) { return count_ <= kFew ? few()[i] : many_[i]; }
  const Tensor& at(Source s) const {
    if (s.kind == Source::Kind::kSlot) return const_cast<Frame*>(this)->slot(s.index);
    return s.kind == Source::Kind::kInput ? *inputs[s.index] : constants[s.index];
  }
  /// Of the step that runs.
  Stack& stack() const { return *call_stack_; }

 private:
  static constexpr size_t kFew = 64;   // that need no memory of their own
  static constexpr size_t kRoom = 16;  // values

  Tensor* few() { return reinterpret_cast<Tensor*>(memory_); }

  std::span<const Tensor* const> inputs;
  std::span<const Tensor> constants;
  alignas(Tensor) std::byte memory_[kFew * sizeof(Tensor)];
  std::vector<Tensor> many_;
  size_t count_;
  boxing::CallStack call_stack_;
};

}  // namespace shunt::compiled
