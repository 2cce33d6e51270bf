// See Note [Dispatch modes].
#include <shunt/modes/dispatch_mode.h>

#include <shunt/core/library.h>
#include <shunt/core/tls.h>

#include "src/dispatch/trace.h"
#include "src/modes/active_modes.h"
#include "src/modes/handler_returns.h"
#include "src/modes/subclass_calls.h"

namespace shunt {

/// The calling thread's modes: guards linked through the stack frames that they live in.
struct ModeStack {
  /// A handler that runs.
  struct Running {
    const DispatchMode* mode;
    const Running* outer;
  };

  const DispatchModeGuard* innermost = nullptr;
  const Running* running = nullptr;

  void setInnermost(const DispatchModeGuard* guard) {
    constexpr uint64_t kPython = DispatchKeySet::of(Functionality::Python).raw();
    innermost = guard;
    auto& included = detail::tls_state.included;
    included = guard != nullptr ? included | kPython : included & ~kPython;
  }
  bool runs(const DispatchMode& mode) const {
    for (const Running* r = running; r != nullptr; r = r->outer)
      if (r->mode == &mode) return true;
    return false;
  }
  void enter(DispatchModeGuard& guard) {
    guard.outer_ = innermost;
    setInnermost(&guard);
  }
  void leave(const DispatchModeGuard& guard) { setInnermost(guard.outer_); }
  int64_t count() const {
    int64_t n = 0;
    for (const DispatchModeGuard* g = innermost; g != nullptr; g = g->outer_) ++n;
    return n;
  }
  std::string innermostName() const { return innermost != nullptr ? innermost->mode_->name() : ""; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const DispatchModeGuard* g = innermost; g != nullptr; g = g->outer_) out.push_back(g->mode_->name());
    return out;
  }
  void handle(const OperatorHandle& op, Stack* stack);
};

namespace {

constinit thread_local ModeStack mode_stack SHUNT_TLS_MODEL{};

}  // namespace

void ModeStack::handle(const OperatorHandle& op, Stack* stack) {
  if (innermost == nullptr) {
    SHUNT_CHECK(handleBySubclass(op, stack), "operator ", op.operator_name(),
                ": called with the key Python, but no DispatchMode is active on this thread and no argument is a TensorSubclass; make "
                "a DispatchModeGuard, or register a kernel of the operator for Python");
    return;
  }
  struct Step {
    Step(ModeStack& modes, const DispatchModeGuard& guard) : modes(modes), guard(guard), running{guard.mode_, modes.running} {
      modes.running = &running;
      modes.setInnermost(guard.outer_);
    }
    ~Step() {
      modes.setInnermost(&guard);
      modes.running = running.outer;
    }
    ModeStack& modes;
    const DispatchModeGuard& guard;
    Running running;
  };
  const DispatchModeGuard& guard = *innermost;
  const HandlerReturns returns(op, *stack);
  const Step step(*this, guard);
  guard.mode_->handle(op, stack);
  returns.check(*stack, *guard.mode_);
}

DispatchMode::~DispatchMode() = default;

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode) : mode_(&mode) {
  SHUNT_CHECK(!mode_stack.runs(mode), "DispatchModeGuard: ", mode.name(),
              " is entered inside its own handler, where it is off so that it can't meet itself; enter another mode, or call "
              "the operators directly");
  mode_stack.enter(*this);
}

DispatchModeGuard::~DispatchModeGuard() { mode_stack.leave(*this); }

int64_t active_dispatch_modes() { return mode_stack.count(); }

std::vector<std::string> activeModeNames() { return mode_stack.names(); }

namespace {

void throughModes(const OperatorHandle& op, DispatchKeySet, Stack* stack) { mode_stack.handle(op, stack); }

std::string modeOfStep(DispatchKey key) {
  return key == DispatchKey::Python ? mode_stack.innermostName() : "";
}

struct Registrar {
  Registrar() : library(Library::Kind::kImpl, "_", DispatchKey::Python) {
    detail::setStepNote(&modeOfStep);
    library.fallback(CppFunction::makeFromBoxedFunction<&throughModes>());
  }
  Library library;
};
Registrar registrar;

}  // namespace
}  // namespace shunt
