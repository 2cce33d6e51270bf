// Composites of products that levels run otherwise than by their kernels. On the call's thread.
#include "src/transforms/vmap/products.h"
#include "src/dispatch/changes.h"
#include "src/dispatch/own_kernels.h"
#include "src/dispatch/reliance.h"
#include "src/dispatch/state_in_use.h"
#include "src/transforms/vmap/of_samples.h"

#include <shunt/ops.h>

#include <algorithm>
#include <span>

namespace shunt::levels {
namespace {

/// Whether what the wrapper holds has another value for each sample of some vmap.
bool hasSamples(Tensor t) {
  while (isWrapper(t)) {
    const WrapperStorage& storage = storageOf(t);
    if (storage.batch_dim >= 0) return true;
    t = Tensor(storage.value);
  }
  return false;
}

/// linear of one row for each sample, with parameters that all samples share. Anything that an error would speak of is
/// left to the composite.
bool isRowOfSamples(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (!input.defined() || !weight.defined() || !bias || !bias->defined()) return false;
  return input.dim() == 1 && weight.dim() == 2 && bias->dim() == 1 && input.is_floating_point() &&
         weight.dtype() == input.dtype() && bias->dtype() == input.dtype() && weight.size(1) == input.size(0) &&
         bias->size(0) == weight.size(0) && hasSamples(input) && !hasSamples(weight) && !hasSamples(*bias);
}

/// The value of a vector of the level's samples, as one with the batch in front.
const Tensor* rowsOf(const Tensor& t, const Level& level) {
  const Tensor* value = valueInFront(t, level);
  return value != nullptr && t.dim() == 1 && value->is_floating_point() ? value : nullptr;
}

/// A product of batches of columns and rows takes a fifth of the time in which mul broadcasts three dimensions: 21 us
/// against 104 for 32 of 128 x 64.
Tensor outerOfSamples(const Tensor& self, const Tensor& vec2, const Level& level) {
  const Tensor *a = rowsOf(self, level), *b = rowsOf(vec2, level);
  if (a == nullptr || b == nullptr || a->dtype() != b->dtype()) return {};
  const Outside outside;
  return ops::bmm::call(ops::unsqueeze::call(*a, 2), ops::unsqueeze::call(*b, 1));
}

// What the composites call for vectors, and what is called in their place, with first and second gradients: as long as
// all of these have the library's kernels nobody can tell which ran. The gradient of mv calls outer and its parts.
const Operator* const kPartsOfLinear[] = {
    &ops::linear::symbol,     &ops::matmul::symbol,          &ops::t::symbol,           &ops::unsqueeze::symbol,
    &ops::mm::symbol,         &ops::squeeze__dim::symbol,    &ops::add__Tensor::symbol, &ops::mv::symbol,
    &ops::add_Tensor::symbol, &ops::outer::symbol,           &ops::reshape::symbol,     &ops::_reshape_alias::symbol,
    &ops::mul_Tensor::symbol, &ops::sum_dim_IntList::symbol, &ops::squeeze_dim::symbol, &ops::view::symbol};
const Operator* const kPartsOfOuter[] = {
    &ops::outer::symbol,         &ops::reshape::symbol,         &ops::_reshape_alias::symbol,
    &ops::mul_Tensor::symbol,    &ops::sum_dim_IntList::symbol, &ops::view::symbol,
    &ops::add__Tensor::symbol,   &ops::unsqueeze::symbol,       &ops::bmm::symbol,
    &ops::transpose_int::symbol, &ops::squeeze_dim::symbol,     &ops::expand::symbol};

/// Whether every kernel that a call with these keys may run is the library's.
bool isOwn(const Operator& op, DispatchKeySet keys) {
  const detail::StateInUse state(op);
  for (keys = keys & state->maskFor(keys); keys.functionalities().raw() != 0; keys = keys & state->maskFor(keys)) {
    if (!detail::isOfThisLibrary(state->lookup(keys))) return false;
    keys = keys & DispatchKeySet::fullAfter(keys.highestPriorityKey());
  }
  return true;
}

bool areOwn(std::span<const Operator* const> parts, DispatchKeySet keys) {
  // Gradients, too, whether or not this call records, and what inner levels give to a program's own batching rules.
  keys = keys | DispatchKeySet{DispatchKey::Batched, DispatchKey::TransformBack} |
         DispatchKeySet::of(Functionality::AutogradFunctionality) | DispatchKeySet::of(Functionality::ADInplaceOrView);
  return std::ranges::all_of(parts, [&](const Operator* op) { return isOwn(*op, keys); });
}

/// What was found out last, by a thread for a product: that takes longer than the call.
struct Verdict {
  uint64_t changes = 0, keys = 0;
  bool own = false, known = false;
};

bool mayReplace(std::span<const Operator* const> parts, DispatchKeySet keys, Verdict& last) {
  if (detail::reliance != nullptr) [[unlikely]]
    for (const Operator* op : parts) detail::relyOn(*op);
  const uint64_t changes = detail::table_changes.load(std::memory_order_acquire);
  if (!last.known || last.changes != changes || last.keys != keys.raw())
    last = {changes, keys.raw(), areOwn(parts, keys), true};
  return last.own;
}

/// Undefined where there is none.
Tensor tensorOf(const IValue& v) { return v.isTensor() ? v.toTensor() : Tensor(); }

bool mayReplaceLinear(DispatchKeySet keys) {
  thread_local Verdict verdict;
  return mayReplace(kPartsOfLinear, keys, verdict);
}
bool mayReplaceOuter(DispatchKeySet keys) {
  thread_local Verdict verdict;
  return mayReplace(kPartsOfOuter, keys, verdict);
}

}  // namespace

std::span<const Operator* const> partsOf(const Operator& op) {
  if (&op == &ops::linear::symbol) return kPartsOfLinear;
  if (&op == &ops::outer::symbol) return kPartsOfOuter;
  return {};
}

// The kernel makes a matrix of the row and a row of the product: five operators, four of them views, each of which goes
// through all levels. This is two, and the product's gradient is one outer product.
Tensor linearOfSamples(DispatchKeySet keys, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias) {
  if (!mayReplaceLinear(keys) || !isRowOfSamples(input, weight, bias)) return {};
  return ops::add_Tensor::call(ops::mv::call(weight, input), *bias, 1);
}

bool runProductOfSamples(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame) {
  Tensor result;
  if (&op.op() == &ops::linear::symbol) {
    result =
        linearOfSamples(keys, tensorOf(peek(*stack, 0, 3)), tensorOf(peek(*stack, 1, 3)), tensorOf(peek(*stack, 2, 3)));
  } else if (&op.op() == &ops::outer::symbol && frame.level().kind == Kind::kVmap && mayReplaceOuter(keys)) {
    result = outerOfSamples(tensorOf(peek(*stack, 0, 2)), tensorOf(peek(*stack, 1, 2)), frame.level());
    if (result.defined()) result = makeBatched(frame.level(), std::move(result), 0);
  }
  if (!result.defined()) return false;
  drop(*stack, op.schema().arguments().size());
  stack->push_back(IValue(std::move(result)));
  return true;
}

Tensor OfSamples<ops::outer>::call(const LevelFrame& frame, DispatchKeySet keys, const Tensor& a, const Tensor& b) {
  if (!isRunByParts(ops::outer::symbol, keys)) return {};
  const DispatchKeySet dense = keys.backends() | DispatchKeySet::of(Functionality::Dense);
  return mayReplaceOuter(dense) ? outerOfSamples(a, b, frame.level()) : Tensor();
}

}  // namespace shunt::levels
