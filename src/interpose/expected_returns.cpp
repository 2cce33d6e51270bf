// See Note [What handlers return].
#include "src/interpose/expected_returns.h"

#include "src/dispatch/operator_entry.h"
#include "src/dispatch/state_in_use.h"
#include "src/transforms/fake/fake_impl.h"
#include "src/transforms/functionalize/twins.h"

#include <shunt/core/function_schema.h>
#include <shunt/core/interrupt.h>
#include <shunt/core/stack_tensors.h>

namespace shunt {
namespace {

// f(position, tensor) for every tensor among the values above the first `below`, undefined ones too.
template <class F>
void forEachReturned(const Stack& stack, size_t below, F&& f) {
  const Tensor undefined;
  for (size_t i = below; i < stack.size(); ++i) {
    const IValue& v = stack[i];
    if (v.isTensor()) {
      f(i - below, v.toTensor());
    } else if (v.isTensorList()) {
      for (const Tensor& t : v.toTensorVector()) f(i - below, t);
    } else if (v.isNone()) {
      f(i - below, undefined);
    }
  }
}

std::vector<ReturnLook> looksOf(const Stack& stack, size_t below, bool recorded) {
  std::vector<ReturnLook> out;
  forEachReturned(stack, below, [&](size_t position, const Tensor& t) {
    if (!t.defined())
      out.push_back({position});
    else
      out.push_back({position, true, recorded && t.requires_grad(), true, t.dtype(), t.sizes().vec()});
  });
  return out;
}

/// Here a call is tried: fake tensors for all, no modes, no wrappers, and nothing kept for later.
struct Rehearsal {
  Rehearsal() : included(s.included), user_excluded(s.user_excluded), mode(s.mode) {
    constexpr DispatchKeySet kFake{DispatchKey::Fake};
    s.included = s.included | kFake.raw();
    s.user_excluded = (user_excluded | fake::kModesAndWrappers.raw()) & ~kFake.raw();
    s.mode = mode & ~detail::kModeCastCache;
    detail::refreshExcluded(s);
  }
  ~Rehearsal() {
    s.included = included;
    s.user_excluded = user_excluded;
    s.mode = mode;
    detail::refreshExcluded(s);
  }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  detail::LocalState& s = detail::tls_state;
  uint64_t included, user_excluded, mode;
};

/// What the operator returns for these arguments; nothing where that can't be known without their elements.
std::optional<std::vector<ReturnLook>> rehearse(const OperatorHandle& op, const Stack& arguments, bool recorded) {
  bool of_a_class = false;  // which decides what it returns
  constexpr DispatchKeySet kOfClasses =
      DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::PythonKernel);
  forEachTensor(arguments, [&](const Tensor& t) { of_a_class |= t.key_set().hasAny(kOfClasses); });
  if (of_a_class) return std::nullopt;
  try {
    const Rehearsal rehearsal;
    functional::Twins twins;
    Stack stack;
    for (const IValue& v : arguments)
      stack.push_back(mapTensors(v, [&](const Tensor& t) { return twins.of(t, nullptr, t); }));
    op.callBoxed(&stack);
    return looksOf(stack, 0, recorded);
  } catch (const Interrupt&) {
    throw;
  } catch (...) {
    return std::nullopt;
  }
}

bool hasDerivative(const OperatorHandle& op, const Stack& arguments) {
  DispatchKeySet keys;
  forEachTensor(arguments, [&](const Tensor& t) { keys |= t.key_set(); });
  const detail::StateInUse state(op.op());
  switch (state->lookup(DispatchKeySet(autogradKeyOf(keys.highestBackend()))).reason) {
    case EntryReason::kKernel:
    case EntryReason::kAutogradAlias:
    case EntryReason::kCompositeHandledBelow:
      return true;
    default:
      return false;  // the fallback's node would throw in backward
  }
}

std::string describe(bool defined, ScalarType dtype, IntArrayRef sizes) {
  return defined ? detail::str(dtype, ' ', sizes) : "an undefined tensor";
}
std::string describe(const Tensor& t) {
  return t.defined() ? describe(true, t.dtype(), t.sizes()) : describe(false, kFloat, {});
}
std::string describe(const ReturnLook& look) { return describe(look.defined, look.dtype, look.sizes); }

bool looksSo(const Tensor& t, const ReturnLook& look) {
  return t.dtype() == look.dtype && t.sizes() == IntArrayRef(look.sizes);
}

std::string handlerOf(const OperatorHandle& op, const DispatchMode& mode) {
  return detail::str("operator ", op.operator_name(), ": the handler of ", mode.name());
}

[[noreturn]] SHUNT_COLD void throwLostGradient(const OperatorHandle& op, const DispatchMode& mode, size_t position) {
  throw Error(detail::str(handlerOf(op, mode), " left a tensor that does not require grad as return ", position + 1,
                          ", while an argument requires grad and the operator has a derivative: the gradient would be "
                          "lost silently. Let the mode's level() be DispatchMode::Level::kKernel, below Autograd, "
                          "where the operator's derivative stays; or, if this is meant, let its results_may_differ() "
                          "be true"));
}

[[noreturn]] SHUNT_COLD void throwDiffers(const OperatorHandle& op, const DispatchMode& mode, size_t position,
                                          const std::string& expected, const std::string& got) {
  throw Error(detail::str(handlerOf(op, mode), " left another tensor than the operator does as return ", position + 1,
                          ": expected ", expected, ", got ", got,
                          ". If this is meant, let the mode's results_may_differ() be true"));
}

}  // namespace

IValue* ExpectedReturns::many(size_t n) {
  many_ = std::make_unique<std::byte[]>(n * sizeof(IValue));
  static_assert(alignof(IValue) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return reinterpret_cast<IValue*>(many_.get());
}

bool ExpectedReturns::anyInList(const IValue& list) {
  bool any = false;
  forEachTensor(list, [&](const Tensor& t) { any |= t.requires_grad(); });
  return any;
}

void ExpectedReturns::keepLooks(AwaitedCall& call, const Stack& stack, size_t below) {
  auto& self = static_cast<ExpectedReturns&>(call);
  if (stack.size() == below + 1 && stack[below].isTensor() && stack[below].toTensor().defined()) {
    const TensorImpl& t = *stack[below].toTensor().unsafeGetTensorImpl();
    const IntArrayRef sizes = t.sizes();
    if (sizes.size() <= kInlineSizes) {
      Single& single = self.single_;
      single.kept = true;
      single.requires_grad = self.recorded_ && t.requires_grad();
      single.dtype = t.dtype();
      single.dim = static_cast<uint32_t>(sizes.size());
      std::copy(sizes.begin(), sizes.end(), single.sizes);
      return;
    }
  }
  self.single_.kept = false;
  self.looks_ = looksOf(stack, below, self.recorded_);
}

void ExpectedReturns::checkClosely(const Stack& stack, const DispatchMode& mode) const {
  if (single_.kept) {
    const std::vector<int64_t> sizes(single_.sizes, single_.sizes + single_.dim);
    checkAgainst({{0, true, single_.requires_grad, true, single_.dtype, sizes}}, stack, mode);
  } else if (looks_) {
    checkAgainst(*looks_, stack, mode);
  } else {
    checkAnswer(stack, mode);
  }
}

void ExpectedReturns::checkAgainst(const std::vector<ReturnLook>& expected, const Stack& stack,
                                   const DispatchMode& mode) const {
  auto next = expected.begin();
  forEachReturned(stack, below_, [&](size_t position, const Tensor& t) {
    if (next == expected.end() || next->position != position)
      throwDiffers(handle_, mode, position, "a list of fewer tensors", "another one, " + describe(t));
    const ReturnLook& look = *next++;
    const bool same = look.defined == t.defined() && (!look.defined || !look.compared || looksSo(t, look));
    if (!same) [[unlikely]]
      throwDiffers(handle_, mode, position, describe(look), describe(t));
    if (look.requires_grad && !t.requires_grad()) [[unlikely]]
      throwLostGradient(handle_, mode, position);
  });
  if (next == expected.end()) return;
  throwDiffers(handle_, mode, next->position, describe(*next) + " in a list", "a shorter list");
}

bool ExpectedReturns::isAliased(size_t position, bool written) const {
  const auto& returns = handle_.schema().returns();  // variable returns have no entry
  return position < returns.size() && (written ? returns[position].is_write() : returns[position].alias.has_value());
}

// The handler did not pass the call on.
void ExpectedReturns::checkAnswer(const Stack& stack, const DispatchMode& mode) const {
  if (level_ == DispatchMode::Level::kKernel) checkNoArgument(stack, mode);
  const Stack given = keptArguments();
  // A derivative that throws is none to lose: that of the default Autograd kernel.
  const bool may_lose = recorded_ && hasDerivative(handle_, given);
  if (auto expected = rehearse(handle_, given, recorded_)) {
    for (ReturnLook& look : *expected) {
      look.requires_grad &= may_lose;
      look.compared = !isAliased(look.position, true);
    }
    return checkAgainst(*expected, stack, mode);
  }
  if (may_lose) checkAnyGradient(stack, mode);
}

// Which results are differentiable is not known here, but one of them is.
void ExpectedReturns::checkAnyGradient(const Stack& stack, const DispatchMode& mode) const {
  std::optional<size_t> without;
  bool any = false;
  forEachReturned(stack, below_, [&](size_t position, const Tensor& t) {
    if (!t.defined() || !t.is_floating_point()) return;
    any |= t.requires_grad();
    if (!without) without = position;
  });
  if (!any && without) throwLostGradient(handle_, mode, *without);
}

// Above, Autograd would give the argument the graph of the result.
void ExpectedReturns::checkNoArgument(const Stack& stack, const DispatchMode& mode) const {
  forEachReturned(stack, below_, [&](size_t position, const Tensor& t) {
    if (!t.defined() || isAliased(position, false)) return;
    forEachTensor(keptArguments(), [&](const Tensor& argument) {
      SHUNT_CHECK(!argument.is_same(t), handlerOf(handle_, mode), " left an argument as return ", position + 1,
                  ", which the operator's schema says is a new tensor: return a clone of it");
    });
  });
}

}  // namespace shunt
