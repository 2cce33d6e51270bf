// See Note [Dispatch modes].
#include <shunt/interpose/dispatch_mode.h>

#include <shunt/core/library.h>
#include <shunt/core/tls.h>

#include "src/base/immortal.h"
#include "src/dispatch/state_in_use.h"
#include "src/dispatch/subclass_calls.h"
#include "src/dispatch/trace.h"
#include "src/interpose/active_modes.h"
#include "src/interpose/expected_returns.h"
#include "src/interpose/handler_returns.h"
#include "src/interpose/kernel_class.h"
#include "src/tensor/active_trace.h"

namespace shunt {

using Level = DispatchMode::Level;

namespace {

constexpr DispatchKey keyOf(Level level) {
  return level == Level::kCall ? DispatchKey::Python : DispatchKey::PythonKernel;
}

}  // namespace

/// The calling thread's modes of one level: guards linked through the stack frames that they live in.
class ModeStack {
 public:
  constexpr explicit ModeStack(Level level) : key_bit_(DispatchKeySet(keyOf(level)).raw()) {}

  const DispatchModeGuard* innermost() const { return innermost_; }
  void setInnermost(const DispatchModeGuard* guard) {
    innermost_ = guard;
    auto& included = detail::tls_state.included;
    included = guard != nullptr ? included | key_bit_ : included & ~key_bit_;
  }
  void enter(DispatchModeGuard& guard) {
    guard.outer_ = innermost_;
    setInnermost(&guard);
  }
  void leave(const DispatchModeGuard& guard) { setInnermost(guard.outer_); }
  int64_t count() const {
    int64_t n = 0;
    for (const DispatchModeGuard* g = innermost_; g != nullptr; g = g->outer_) ++n;
    return n;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const DispatchModeGuard* g = innermost_; g != nullptr; g = g->outer_) out.push_back(g->mode_->name());
    return out;
  }
  /// Lets the innermost mode handle the call.
  void handle(const OperatorHandle& op, Stack* stack);

 private:
  const DispatchModeGuard* innermost_ = nullptr;
  const uint64_t key_bit_;
};

namespace {

/// A handler that runs.
struct Running {
  const DispatchMode* mode;
  const Running* outer;
};

constinit thread_local ModeStack at_call SHUNT_TLS_MODEL{Level::kCall};
constinit thread_local ModeStack at_kernel SHUNT_TLS_MODEL{Level::kKernel};
constinit thread_local const Running* running SHUNT_TLS_MODEL = nullptr;

ModeStack& modesAt(Level level) { return level == Level::kCall ? at_call : at_kernel; }

bool runs(const DispatchMode& mode) {
  for (const Running* r = running; r != nullptr; r = r->outer)
    if (r->mode == &mode) return true;
  return false;
}

}  // namespace

void ModeStack::handle(const OperatorHandle& op, Stack* stack) {
  struct Step {
    Step(ModeStack& modes, const DispatchModeGuard& guard) : modes(modes), guard(guard), now{guard.mode_, running} {
      running = &now;
      modes.setInnermost(guard.outer_);
    }
    ~Step() {
      modes.setInnermost(&guard);
      running = now.outer;
    }
    ModeStack& modes;
    const DispatchModeGuard& guard;
    Running now;
  };
  const DispatchModeGuard& guard = *innermost_;
  DispatchMode& mode = *guard.mode_;
  const HandlerReturns returns(op, *stack);
  const Step step(*this, guard);
  if (guard.results_may_differ_) {
    mode.handle(op, stack);
    return returns.check(*stack, mode);
  }
  ExpectedReturns expected(op, *stack, returns.below(), guard.level_);
  mode.handle(op, stack);
  returns.check(*stack, mode);
  expected.check(*stack, mode);
}

DispatchMode::~DispatchMode() = default;

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode)
    : mode_(&mode), level_(mode.level()), results_may_differ_(mode.results_may_differ()) {
  SHUNT_CHECK(
      !runs(mode), "DispatchModeGuard: ", mode.name(),
      " is entered inside its own handler, where it is off so that it can't meet itself; enter another mode, or "
      "call the operators directly");
  SHUNT_CHECK(!isTracing(), "DispatchModeGuard: ", mode.name(),
              " is entered inside of a function that trace() records: a graph holds operators, not modes. Enter it "
              "around trace(), or around Graph::run()");
  modesAt(level_).enter(*this);
}

DispatchModeGuard::~DispatchModeGuard() { modesAt(level_).leave(*this); }

int64_t active_dispatch_modes() { return at_call.count() + at_kernel.count(); }

std::vector<std::string> activeModeNames(DispatchKey key) {
  return key == keyOf(Level::kCall) ? at_call.names() : at_kernel.names();
}

namespace {

void throughModes(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  if (at_call.innermost() != nullptr) return at_call.handle(op, stack);
  SHUNT_CHECK(handleBySubclass(op, stack), "operator ", op.operator_name(),
              ": called with the key Python, but no DispatchMode is active on this thread and no argument is a "
              "TensorSubclass; make a DispatchModeGuard, or register a kernel of the operator for Python");
}

void throughKernelModes(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  DispatchKeySet below = keys & DispatchKeySet::fullAfter(DispatchKey::PythonKernel);
  const bool has_class = hasKernelClass(op, *stack);
  if (has_class) below = below | DispatchKeySet::of(Functionality::Dense);  // what it stands in the place of
  // The operators that it calls come here in turn.
  if (detail::goesToComposite(*detail::StateInUse(op.op()), below)) return op.redispatchBoxed(below, stack);
  SHUNT_CHECK(at_kernel.innermost() != nullptr || has_class, "operator ", op.operator_name(),
              ": called with the key PythonKernel, but no DispatchMode at level kKernel is active on this thread and "
              "no argument is of a KernelClass; make a DispatchModeGuard, or register a kernel of the operator for "
              "PythonKernel");
  const ExcludeDispatchKeyGuard above(kOffAtKernel);
  if (at_kernel.innermost() != nullptr)
    at_kernel.handle(op, stack);
  else
    handleByKernelClass(op, stack);
}

std::string modeOfStep(const OpState& state, DispatchKeySet keys) {
  const DispatchKey key = keys.highestPriorityKey();
  if (!kModeKeys.has(key) || (key == DispatchKey::PythonKernel && detail::goesToComposite(state, keys))) return "";
  const std::vector<std::string> names = activeModeNames(key);
  return names.empty() ? "" : names.front();
}

struct Registrar {
  Registrar()
      : call(Library::Kind::kImpl, "_", keyOf(Level::kCall)), kernel(Library::Kind::kImpl, "_", keyOf(Level::kKernel)) {
    detail::setStepNote(&modeOfStep);
    call.fallback(CppFunction::makeFromBoxedFunction<&throughModes>());
    kernel.fallback(CppFunction::makeFromBoxedFunction<&throughKernelModes>());
  }
  Library call, kernel;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt
