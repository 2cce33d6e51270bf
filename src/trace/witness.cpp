#include "src/trace/witness.h"

#include "src/autograd/graph_task.h"
#include "src/autograd/storage_and_grad.h"
#include "src/dispatch/state_in_use.h"
#include "src/trace/traced_tensor.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/core/stack_tensors.h>

#include <exception>
#include <utility>

namespace shunt::trace_detail {
namespace {

constinit thread_local Witness* current_witness SHUNT_TLS_MODEL = nullptr;

constexpr uint64_t kTracer = DispatchKeySet::of(Functionality::Tracer).raw();

/// The engine adds to a leaf's grad, which graphs have as one node of the library "trace".
bool isAddingToGrad() { return dynamic_cast<const autograd::AccumulateGrad*>(autograd::runningNode()) != nullptr; }

}  // namespace

Witness::Witness(TakesApart takes_apart, std::unordered_set<const StorageImpl*> known, size_t max_calls)
    : takes_apart_(takes_apart),
      max_calls_(max_calls),
      known_(std::move(known)),
      was_included_((detail::tls_state.included & kTracer) != 0) {
  detail::tls_state.included |= kTracer;
  current_witness = this;
}

Witness::~Witness() {
  current_witness = nullptr;
  if (!was_included_) detail::tls_state.included &= ~kTracer;
}

Witness* Witness::current() { return current_witness; }

bool Witness::isTakenApart(const OperatorHandle& op, DispatchKeySet below, const Stack& stack) const {
  const DispatchKeySet keys = forComposites(below) - kAutocastKeys;
  if (!detail::goesToComposite(*detail::StateInUse(op.op()), keys)) return false;
  if (takes_apart_(op)) return true;
  bool requires_grad = false;
  forEachTensor(stack, op.schema().arguments().size(), [&](const Tensor& t) { requires_grad |= t.requires_grad(); });
  return requires_grad && !tls_excluded().hasAny(DispatchKeySet::of(Functionality::AutogradFunctionality));
}

void Witness::note(const OperatorHandle& op, const Stack& stack) noexcept try {
  if (!is_complete_) return;
  Call call{op, {}};
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const IValue& v = stack[stack.size() - arguments.size() + i];
    Argument& noted = call.arguments.emplace_back();
    forEachTensor(v, [&](const Tensor& t) {
      noted.is_tensors = true;
      noted.tensors.push_back(t.unsafeGetTensorImpl());
      const StorageImpl* memory = autograd::storageOf(t);
      if (arguments[i].is_write() && memory != nullptr && !known_.contains(memory) && !writes_unknown_ && !inBackward())
        writes_unknown_ = op;
    });
    if (!noted.is_tensors) noted.literal = v;
  }
  if (calls_.size() < max_calls_) calls_.push_back(std::move(call));
} catch (const std::exception&) {  // no memory
  is_complete_ = false;
}

void Witness::noteResults(const OperatorHandle& op, const Stack& stack) noexcept try {
  if (!is_complete_) return;
  const size_t returns = op.schema().returns().size();
  for (size_t i = 0; i < returns; ++i)
    forEachTensor(stack[stack.size() - returns + i], [&](const Tensor& t) { known_.insert(autograd::storageOf(t)); });
} catch (const std::exception&) {  // no memory
  is_complete_ = false;
}

void Witness::call(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const DispatchKeySet below = keys & kBelowTracer;
  const bool is_adding_to_grad = isAddingToGrad();
  if (inside_ || is_adding_to_grad || isTakenApart(op, below, *stack)) {
    op.redispatchBoxed(below, stack);
    if (!inside_ && is_adding_to_grad) noteResults(op, *stack);  // a grad may be a copy of its gradient
    return;
  }
  note(op, *stack);
  struct Inside {
    explicit Inside(bool& on) : on(on) { on = true; }
    ~Inside() { on = false; }
    bool& on;
  };
  {
    const Inside inside(inside_);
    op.redispatchBoxed(below, stack);
  }
  noteResults(op, *stack);
}

}  // namespace shunt::trace_detail
