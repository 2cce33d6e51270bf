// What an operator itself returns, to hold a mode's results against: Note [What handlers return]
// (shunt/interpose/dispatch_mode.h).
#pragma once

#include "src/dispatch/awaited_call.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/interpose/dispatch_mode.h>

#include <memory>
#include <optional>
#include <vector>

namespace shunt {

/// The checked part of a tensor that an operator returns.
struct ReturnLook {
  size_t position;  // of the return that it is, or is in
  bool defined = false;
  bool requires_grad = false;
  bool compared = true;  // dtype and sizes: not of a written argument, which is what the handler made of it
  ScalarType dtype = kFloat;
  std::vector<int64_t> sizes = {};
};

/// Made before the handler runs, with the arguments at the top of the stack. Lives in the frame of the one that runs
/// it, and waits meanwhile for the handler to pass the call on. That is what most handlers do, so it takes no memory
/// then.
class ExpectedReturns : detail::AwaitedCall {
 public:
  /// `below`: how many values lie under the arguments, which are another call's.
  ExpectedReturns(const OperatorHandle& op, const Stack& stack, size_t below, DispatchMode::Level level)
      : handle_(op), level_(level), below_(below), outer_(detail::awaited_call) {
    AwaitedCall::op = &op.op();
    count = stack.size() - below;
    IValue* const kept = count <= kInlineArguments ? inlineArguments() : many(count);
    arguments = kept;
    const bool may_be_recorded = level == DispatchMode::Level::kCall &&
                                 !tls_excluded().hasAny(DispatchKeySet::of(Functionality::AutogradFunctionality));
    for (size_t i = 0; i < count; ++i) {
      std::construct_at(kept + i, stack[below + i]);
      if (may_be_recorded) recorded_ |= anyRequiresGrad(kept[i]);
    }
    settings = Settings::now();
    returned = &keepLooks;
    detail::awaited_call = this;
  }
  ~ExpectedReturns() {
    detail::awaited_call = outer_;
    std::destroy_n(const_cast<IValue*>(arguments), count);
  }
  ExpectedReturns(const ExpectedReturns&) = delete;
  ExpectedReturns& operator=(const ExpectedReturns&) = delete;

  /// Throws, naming the mode, where a result differs. The returns stand where the arguments were, and have the right
  /// types.
  void check(const Stack& stack, const DispatchMode& mode) {
    detail::awaited_call = outer_;  // what is called from here on is not the handler's
    if (!isAsKept(stack)) [[unlikely]]
      checkClosely(stack, mode);
  }

 private:
  static constexpr size_t kInlineArguments = 10, kInlineSizes = 5;

  /// The look of a lone tensor.
  struct Single {
    bool kept = false, requires_grad = false;
    ScalarType dtype = kFloat;
    uint32_t dim = 0;
    int64_t sizes[kInlineSizes];
  };

  IValue* inlineArguments() { return reinterpret_cast<IValue*>(inline_); }
  SHUNT_COLD IValue* many(size_t n);
  static bool anyRequiresGrad(const IValue& v) {
    if (v.isTensor()) return v.toTensor().defined() && v.toTensor().requires_grad();
    return v.tag() >= IValue::Tag::Generator && anyInList(v);
  }
  static bool anyInList(const IValue& list);
  static void keepLooks(AwaitedCall& call, const Stack& stack, size_t below);
  bool isAsKept(const Stack& stack) const;
  SHUNT_NOINLINE void checkClosely(const Stack& stack, const DispatchMode& mode) const;
  void checkAgainst(const std::vector<ReturnLook>& expected, const Stack& stack, const DispatchMode& mode) const;
  void checkAnswer(const Stack& stack, const DispatchMode& mode) const;
  void checkAnyGradient(const Stack& stack, const DispatchMode& mode) const;
  void checkNoArgument(const Stack& stack, const DispatchMode& mode) const;
  /// Whether the schema says that the return is an argument, or a view of one; `written`: an argument that is written.
  bool isAliased(size_t position, bool written) const;
  Stack keptArguments() const { return Stack(arguments, arguments + count); }

  const OperatorHandle& handle_;
  const DispatchMode::Level level_;
  const size_t below_;
  bool recorded_ = false;  // by Autograd, where the operator has a derivative
  // Of the call passed on: one or the other.
  Single single_;
  std::optional<std::vector<ReturnLook>> looks_;
  AwaitedCall* const outer_;
  std::unique_ptr<std::byte[]> many_;
  alignas(IValue) std::byte inline_[kInlineArguments * sizeof(IValue)];  // copies, since the handler may drop them
};

inline bool ExpectedReturns::isAsKept(const Stack& stack) const {
  if (!single_.kept || !stack[below_].isTensor() || !stack[below_].toTensor().defined()) return false;
  const TensorImpl& t = *stack[below_].toTensor().unsafeGetTensorImpl();
  const IntArrayRef sizes = t.sizes();
  if (t.dtype() != single_.dtype || sizes.size() != single_.dim) return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != single_.sizes[i]) return false;
  return !single_.requires_grad || t.requires_grad();
}

}  // namespace shunt
