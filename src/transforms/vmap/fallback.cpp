// The kernels of the keys Batched and TransformBack: see Note [Levels] (levels.h).
#include "src/base/immortal.h"
#include "src/core/alias_sets.h"
#include "src/dispatch/reliance.h"
#include "src/dispatch/state_in_use.h"
#include "src/tensor/printing.h"
#include "src/transforms/vmap/in_grad.h"
#include "src/transforms/vmap/side_by_side.h"

#include <shunt/core/library.h>
#include <shunt/ops.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string_view>
#include <utility>

namespace shunt::levels {
namespace {

constexpr DispatchKeySet kBelowBatched = DispatchKeySet::fullAfter(DispatchKey::Batched);

constinit std::atomic<uint64_t> rules_used{0}, fallbacks_used{0};

template <class F>
void forEachArgument(const OperatorHandle& op, const Stack& stack, F&& f) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    forEachTensor(stack[stack.size() - arguments.size() + i], [&](const Tensor& t) { f(arguments[i], t); });
}

bool anyOf(const Level& level, const Stack& stack, size_t n) {
  bool any = false;
  forEachTensor(stack, n, [&](const Tensor& t) { any |= belongsTo(t, level); });
  return any;
}

[[noreturn]] SHUNT_COLD void throwEscaped(const OperatorHandle& op, const Argument& a, const Tensor& t) {
  const char* transform = storageOf(t).level.kind() == Kind::kVmap ? "vmap" : "grad, vjp or jacrev";
  throw Error(
      detail::str("operator ", op.operator_name(), ": argument '", a.name, "' is a tensor of shape ", t.sizes(),
                  " that ", transform,
                  " gave to a function which has returned, or that it gave on another thread: it is good in that "
                  "call only. Return what you need of it from the function"));
}

/// Whether nothing was recorded of a grad level's tensor: as a table that a function makes once and keeps.
bool isConstant(const Tensor& wrapper) { return detail::constantBehind(wrapper) != nullptr; }

Stack lastOf(const Stack& stack, size_t n) { return Stack(stack.end() - static_cast<ptrdiff_t>(n), stack.end()); }

/// What an operator is given, and what of that it returns when it has been called with values in its place.
class Given {
 public:
  /// Before `stack`'s arguments are replaced.
  Given(const FunctionSchema& schema, const Stack& stack)
      : schema_(schema), writes_(schema.is_mutable()), given_(writes_ ? lastOf(stack, argumentCount()) : Stack()) {}
  /// Before the call.
  void replacedBy(const Stack& stack) {
    if (writes_) values_ = lastOf(stack, argumentCount());
  }
  /// After it: written results become what was given. `wrap` makes tensors that are new what they are in the level.
  template <class F>
  void putBack(Stack& stack, const F& wrap) {
    const size_t n = schema_.returns().size();
    std::vector<std::optional<size_t>> from(n);
    if (writes_) from = detail::returnedArguments(schema_, values_, lastOf(stack, n));
    for (size_t r = 0; r < n; ++r) {
      IValue& v = peek(stack, r, n);
      v = from[r] ? given_[*from[r]] : mapTensors(v, wrap);
    }
  }
  template <class F>
  void forEachWritten(const F& f) const {
    for (size_t i = 0; i < given_.size(); ++i)
      if (schema_.arguments()[i].is_write()) forEachTensor(given_[i], f);
  }

 private:
  size_t argumentCount() const { return schema_.arguments().size(); }
  const FunctionSchema& schema_;
  const bool writes_;
  Stack given_, values_;
};

/// Calls the operator with `valueOf` each tensor. What it writes it returns as it was given.
template <class F>
void callOnValues(const OperatorHandle& op, Stack* stack, const F& valueOf) {
  Given given(op.schema(), *stack);
  mapTensors(*stack, op.schema().arguments().size(), valueOf);
  given.replacedBy(*stack);
  op.callBoxed(stack);
  given.putBack(*stack, [](const Tensor& t) { return t; });
}

/// Without any level on this thread. Constants of a level that has ended are their values.
void outsideOfAll(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  bool constants = false;
  forEachArgument(op, *stack, [&](const Argument& a, const Tensor& t) {
    if (!isWrapper(t)) return;
    if (!isConstant(t)) throwEscaped(op, a, t);
    constants = true;
  });
  if (constants) return callOnValues(op, stack, [](const Tensor& t) { return isWrapper(t) ? storageOf(t).value : t; });
  SHUNT_CHECK(false, "operator ", op.operator_name(),
              ": the key Batched is included on this thread, but no vmap or grad is running (keys ", keys,
              "); use shunt::vmap, which includes it where it is needed");
}

}  // namespace

bool isComposite(const Operator& op, DispatchKeySet keys) {
  const detail::StateInUse state(op);
  return detail::goesToComposite(*state, keys.backends() | DispatchKeySet::of(Functionality::Dense));
}

bool isRunByParts(const Operator& op, DispatchKeySet keys) {
  if (rowOf(op) != nullptr) return false;
  const detail::StateInUse state(op);
  const DispatchKeySet dense = backendsOf(keys) | DispatchKeySet::of(Functionality::Dense);
  return detail::goesToComposite(*state, withAutogradKeys(dense) - DispatchKeySet::of(Functionality::ADInplaceOrView));
}

DispatchKeySet backendsOf(DispatchKeySet keys) {
  return keys.backends().empty() ? DispatchKeySet::of(BackendComponent::CPU) : keys.backends();
}

DispatchKeySet autocastFor(const Operator& op, DispatchKeySet keys) {
  if (!keys.backends().empty()) return keys & kAutocastKeys;
  const DispatchKeySet on = DispatchKeySet(DispatchKey::AutocastCPU) - tls_excluded();  // which tensors bring
  const detail::StateInUse state(op);
  return on & state->maskFor(on | backendsOf(keys));
}

namespace {

/// Runs a composite's kernel inside of the level: wrappers have no backend's functionality, so the call has none.
void runParts(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame) {
  const DispatchKeySet autocast = autocastFor(op.op(), keys), backends = backendsOf(keys);
  const DispatchKeySet dense = backends | DispatchKeySet::of(Functionality::Dense);
  if (!autocastIsOn() && runProductOfSamples(op, dense, stack, frame)) return;
  op.redispatchBoxed(autocast | backends, stack);
}

/// The call's arguments, which leave None behind on its stack.
Stack takeArguments(Stack& stack, size_t n) {
  const auto first = stack.end() - static_cast<ptrdiff_t>(n);
  return Stack(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
}

void replaceArguments(Stack& stack, size_t n, Stack results) {
  drop(stack, n);
  for (IValue& v : results) stack.push_back(std::move(v));
}

// ---- vmap ---------------------------------------------------------------------------------------------------------
[[noreturn]] SHUNT_COLD void throwDataDependent(const OperatorHandle& op) {
  throw Error(
      detail::str("vmap: operator ", op.operator_name(),
                  " (item() of a batched tensor) reads one number where there is one for each sample. Compute with "
                  "the tensor (where, clamp, masks) instead of branching on its value, or call item() outside of "
                  "vmap"));
}

void checkForm(const BatchedCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    SHUNT_CHECK(!call.schema.arguments()[i].is_out() || !detail::isGiven(call.args[i]), "vmap: operator ",
                call.op.operator_name(), " is an out= form, and its argument '", batchedArgument(call),
                "' is batched: inside vmap, use the form that returns a new tensor");
}

void checkWritesNoPick(const BatchedCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.schema.arguments()[i].is_write())
      forEachTensor(call.args[i], [&](const Tensor& t) {
        SHUNT_CHECK(!call.isBatched(t) || !storageOf(t).is_pick, "vmap: operator ", call.op.operator_name(),
                    " would write to what an integer that differs between the samples has picked, as x[i] does: that "
                    "is a copy of x's elements. Write to x by x.index_put_({i}, value), or clone() what was picked");
      });
}

/// The functional form's rule, whose result is copied into the first argument.
void runThroughFunctional(BatchedCall& call, const BatchRow& row) {
  if (!call.isBatched(size_t{0})) throwWritesUnbatched(call, 0);
  BatchedCall functional(OperatorHandle(*row.functional), call.args, call.level);
  const BatchRow& its_row = *rowOf(*row.functional);
  its_row.kind == BatchKind::kRule ? its_row.rule(functional) : runDims(functional, its_row);
  // Scans promote integers, and in place they don't.
  const ScalarType own = call.tensor(0).scalar_type(), result = functional.results[0].toTensor().scalar_type();
  const auto dtype = call.schema.argumentIndexWithName("dtype");
  SHUNT_CHECK(own == result || (own != kBool && (!dtype || call.args[static_cast<size_t>(*dtype)].isNone())),
              call.op.operator_name(), ": Bad in-place call: input tensor dtype ", own, " and output tensor dtype ",
              result, " should match");
  call.results = std::move(functional.results);
}

/// transpose_, squeeze_: the tensor shows another view of what it showed.
bool changesGeometry(const BatchRow& row) {
  using namespace std::string_view_literals;
  constexpr std::string_view kNames[] = {"aten::transpose_"sv, "aten::t_"sv, "aten::squeeze_"sv, "aten::unsqueeze_"sv,
                                         "aten::as_strided_"sv};
  return std::find(std::begin(kNames), std::end(kNames), row.op->name()) != std::end(kNames);
}

/// What the functional form saves of its first argument must not be what its result is then written to.
IValue keptApart(const BatchedCall& call) {
  const WrapperStorage& storage = storageOf(call.tensor(0));
  return IValue(makeBatched(call.level, ops::clone::call(storage.value, std::nullopt), storage.batch_dim));
}

void runInplace(BatchedCall& call, const BatchRow& row) {
  const bool writes = !changesGeometry(row) && call.isBatched(size_t{0});
  const IValue self = call.args[0];
  if (writes && isRecorded(call)) call.args[0] = keptApart(call);
  runThroughFunctional(call, row);
  call.args[0] = self;
  const Tensor result = call.results[0].toTensor();
  if (changesGeometry(row)) {
    call.replaced = result;
  } else {
    const Tensor self_value = call.front(call.tensor(0));
    SHUNT_CHECK(self_value.sizes() == result.sizes(), "vmap: operator ", call.op.operator_name(),
                ": output with shape ", call.tensor(0).sizes(), " doesn't match the result's shape ",
                result.sizes().slice(1, result.dim() - 1));
    ops::copy_::call(const_cast<Tensor&>(self_value), result, false);
  }
  call.results = {IValue()};
}

void runRule(BatchedCall& call, const BatchRow& row) {
  countRule();
  switch (row.kind) {
    case BatchKind::kPointwise:
      return runPointwise(call);
    case BatchKind::kRandom:
      return runRandom(call);
    case BatchKind::kUnsupported:
      throw Error(detail::str("vmap: operator ", call.op.operator_name(), ", whose argument '", batchedArgument(call),
                              "' is batched, can't run inside vmap: ", row.reason));
    default:
      if (call.schema.is_mutable() && readsWhatItWrites(call, false)) return loopSilently(call);
      if (row.functional != nullptr) return runInplace(call, row);
      return row.kind == BatchKind::kRule ? row.rule(call) : runDims(call, row);
  }
}

/// The tensor of the level that results of a view operator show; null for other operators.
const Tensor* viewedBy(const BatchedCall& call, const Argument& result) {
  if (!result.hasAlias()) return nullptr;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.isBatched(i) && detail::sharesAliasSet(call.schema.arguments()[i], result)) return &call.tensor(i);
  return nullptr;
}

/// Results are wrapped; those that were written are the arguments.
void wrapResults(const BatchedCall& call, Stack& results, const Stack& given) {
  const auto& returns = call.schema.returns();
  const auto from = call.returned.empty() ? detail::returnedArguments(call.schema, given, {}) : call.returned;
  size_t place = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    if (from[r]) {
      results[r] = given[*from[r]];
      continue;
    }
    const Tensor* base = returns[r].is_write() ? nullptr : viewedBy(call, returns[r]);
    results[r] = mapTensors(results[r], [&](const Tensor& t) {
      const auto dim = call.out_dims.empty() ? 0 : call.out_dims[place++];
      if (!dim) return t;
      Tensor wrapper = makeBatched(call.level, t, *dim);
      if (base != nullptr) {
        shareVersion(*base, wrapper);
        storageOf(wrapper).is_pick = storageOf(*base).is_pick;
      }
      return wrapper;
    });
  }
}

/// A written wrapper counts its changes, and shows its value as it is now.
void afterWrite(const BatchedCall& call, const Tensor& written) {
  if (!call.isBatched(written)) return;
  if (call.replaced.defined()) {
    storageOf(written).value = call.replaced;
    storageOf(written).batch_dim = 0;
    followValue(written);
  }
  if (!written.is_inference()) written.unsafeGetTensorImpl()->version().bump();
}

// ---- pointwise operators whose batches stand side by side already --------------------------------------------------
bool isReady(const Stack& stack, size_t n, const Level& level) {
  SideBySide values(level);
  for (size_t i = stack.size() - n; i < stack.size(); ++i) {
    const IValue& v = stack[i];
    if (v.isTensorList() || v.isOptionalTensorList() || (v.isTensor() && !values.takes(v.toTensor()))) return false;
  }
  return values.anyBatched();
}

/// The call on the values, in the arguments' place: neither a copy of them nor a list of results is made.
bool runReadyPointwise(const OperatorHandle& op, Stack* stack, size_t n, const LevelFrame& frame) {
  const Level& level = frame.level();
  const bool inplace = op.schema().returns()[0].is_write();
  if (!isReady(*stack, n, level)) return false;
  const Tensor self = inplace ? peek(*stack, 0, n).toTensor() : Tensor();
  if (inplace && (!belongsTo(self, level) || storageOf(self).is_pick)) return false;
  for (size_t i = 0; i < n; ++i) {
    IValue& v = peek(*stack, i, n);
    if (!v.isTensor() || !belongsTo(v.toTensor(), level)) continue;
    Tensor value = storageOf(v.toTensor()).value;
    v.toTensor() = std::move(value);
  }
  {
    const Outside outside;
    op.callBoxed(stack);
  }
  Tensor& result = stack->back().toTensor();
  if (inplace) {
    result = self;
    if (!self.is_inference()) self.unsafeGetTensorImpl()->version().bump();
  } else {
    result = makeBatched(level, std::move(result), 0);
  }
  return true;
}

}  // namespace

void countRule() noexcept { rules_used.fetch_add(1, std::memory_order_relaxed); }

void runOutside(const OperatorHandle& op, Stack* stack, const LevelFrame& frame, FunctionRef<void(BatchedCall&)> rule) {
  const size_t n = op.schema().arguments().size();
  BatchedCall call(op, takeArguments(*stack, n), frame.level());
  checkForm(call);
  checkWritesNoPick(call);
  {
    const Outside outside;
    rule(call);
  }
  for (size_t i = 0; i < n; ++i)
    if (call.schema.arguments()[i].is_write())
      forEachTensor(call.args[i], [&](const Tensor& t) { afterWrite(call, t); });
  Stack results = std::move(call.results);
  wrapResults(call, results, call.args);
  replaceArguments(*stack, n, std::move(results));
}

void runInVmap(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame) {
  if (isRunByParts(op.op(), keys)) return runParts(op, keys, stack, frame);
  const BatchRow* row = rowOf(op.op());
  if (op.op().name() == "aten::_local_scalar_dense") throwDataDependent(op);
  const size_t n = op.schema().arguments().size();
  if (row != nullptr && row->kind == BatchKind::kPointwise && runReadyPointwise(op, stack, n, frame)) {
    countRule();
    return;
  }
  runOutside(op, stack, frame, [&](BatchedCall& call) {
    // Where the operator isn't cast, neither is what its rule calls in its place.
    std::optional<ExcludeDispatchKeyGuard> uncast;
    if (row != nullptr && autocastIsOn() && autocastFor(op.op(), keys).empty()) uncast.emplace(kAutocastKeys);
    if (row != nullptr) return runRule(call, *row);
    if (const auto* functor = functorOf(op.op(), keys)) {
      countRule();
      return runElementwise(call, *functor);
    }
    fallbacks_used.fetch_add(1, std::memory_order_relaxed);
    loopOverBatch(call);
  });
}

void relyOnBatchingRules() {
  if (std::exchange(detail::reliance->saw_batching_rules, true)) return;
  Dispatcher& dispatcher = Dispatcher::singleton();
  for (const OperatorName& name : dispatcher.getRegistrationsForDispatchKey(DispatchKey::Batched)) {
    const auto op = dispatcher.findSchema(name);
    // The library's own have the fallback for their boxed form.
    if (op && detail::StateInUse(op->op())->entry(slotOf(DispatchKey::Batched)).boxed !=
                  &boxing::callStaticBoxed<&batchedFallback>)
      detail::relyOn(op->op());
  }
}

namespace {

// ---- grad ---------------------------------------------------------------------------------------------------------
/// Whether the level has nothing to do with the call but to pass it on: it computes gradients and records nothing, so
/// that results are constants here, unless they are tensors of this level that were written.
bool passesThrough(const OperatorHandle& op, DispatchKeySet keys, const Stack& stack, const Level& level) {
  if (!recordsNothing(level, keys)) return false;
  if (op.schema().returns().empty() || op.schema().isOut()) return false;
  if (!op.schema().is_mutable()) return true;
  bool writes = false;
  forEachArgument(op, stack,
                  [&](const Argument& a, const Tensor& t) { writes |= a.is_write() && belongsTo(t, level); });
  return !writes;
}

/// Counts the changes of what it stands for, so that the level's graph knows of them.
Tensor makeConstant(const Level& level, const Tensor& t) {
  Tensor constant = makeTracked(level, t);
  shareVersion(t, constant);
  return constant;
}

/// Whether it writes to tensors from outside alone, and nothing of the level's has a gradient that they could lose.
bool writesConstantsOutside(const OperatorHandle& op, const Stack& stack, const Level& level) {
  if (!op.schema().is_mutable()) return false;
  bool out = true;
  forEachArgument(op, stack, [&](const Argument& a, const Tensor& t) {
    if (belongsTo(t, level)) out = out && !a.is_write() && !t.requires_grad();
  });
  return out;
}

/// Tensors from outside are constants in this level, whatever graph they have there.
void runInGrad(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame) {
  const Level& level = frame.level();
  const auto& arguments = op.schema().arguments();
  if (passesThrough(op, keys, *stack, level) || writesConstantsOutside(op, *stack, level)) {
    mapTensors(*stack, arguments.size(), [&](const Tensor& t) { return belongsTo(t, level) ? storageOf(t).value : t; });
    const Outside outside;
    return op.callBoxed(stack);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    IValue& v = peek(*stack, i, arguments.size());
    bool foreign = false;
    forEachTensor(v, [&](const Tensor& t) {
      if (belongsTo(t, level)) return;
      SHUNT_CHECK(
          !arguments[i].is_write(), "operator ", op.operator_name(), " writes to its argument '", arguments[i].name,
          "', a tensor of shape ", t.sizes(),
          " from outside of the function that grad, vjp or jacrev differentiates, or computed there of such tensors "
          "alone, with a tensor of that function: the gradient would be lost. Pass the written tensor as an argument, "
          "clone() it inside, or use the form that returns a new tensor");
      foreign |= isForeign(t);
    });
    if (!foreign) continue;
    v = mapTensors(v,
                   [&](const Tensor& t) { return !belongsTo(t, level) && isForeign(t) ? makeConstant(level, t) : t; });
  }
  op.redispatchBoxed(keysInGrad(keys), stack);
}

}  // namespace

namespace {

/// Whether the call makes a tensor of nothing that the level has not: of sizes and numbers, or of what another tensor
/// looks like. It is one of the level, so that it may be written.
bool isFactory(const OperatorHandle& op, const Stack& stack) {
  const FunctionSchema& schema = op.schema();
  if (schema.is_mutable() || schema.returns().size() != 1) return false;
  bool any = false;
  forEachTensor(stack, schema.arguments().size(), [&](const Tensor&) { any = true; });
  const std::string_view name = op.op().name();
  return !any || name == "aten::clone" || name.starts_with("aten::new_") || name.ends_with("_like");
}

}  // namespace

void batchedFallback(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const LevelFrame* frame = innermost();
  if (frame == nullptr) [[unlikely]]
    return outsideOfAll(op, keys, stack);
  detail::relyOn(op.op());  // whether it is a composite, or has a kernel for this key
  if (!anyOf(frame->level(), *stack, op.schema().arguments().size())) {
    if (frame->level().kind == Kind::kVmap) {
      if (runRandomUnbatched(op, keys, stack, *frame)) return;
      // Its parts may be random. They come to an outer grad, whose key the call may have, by levels of their own.
      if (rowOf(op.op()) == nullptr && isComposite(op.op(), keys))
        return op.redispatchBoxed((keys & kBelowBatched) - DispatchKeySet(DispatchKey::TransformBack), stack);
    }
    const Level& level = frame->level();
    const bool is_new = level.kind == Kind::kGrad && !recordsNothing(level, keys) && isFactory(op, *stack);
    {
      const Outside outside;
      op.callBoxed(stack);
    }
    if (is_new && stack->back().isTensor()) stack->back() = IValue(tracked(level, stack->back().toTensor()));
    return;
  }
  if (frame->level().kind == Kind::kVmap) return runInVmap(op, keys, stack, *frame);
  runInGrad(op, keys, stack, *frame);
}

/// Out of the innermost level, a grad: autograd and autocast have had their turn in it.
void transformBack(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const LevelFrame* frame = innermost();
  const FunctionSchema& schema = op.schema();
  const size_t n = schema.arguments().size();
  SHUNT_INTERNAL_ASSERT(frame != nullptr && frame->level().kind == Kind::kGrad,
                        "TransformBack outside of a grad level, operator ", op.operator_name());
  if (isComposite(op.op(), keys)) {
    if (!runDropoutInGrad(op, stack, *frame)) runParts(op, keys.backends(), stack, *frame);
    return;
  }
  const Level& level = frame->level();
  Given given(schema, *stack);
  mapTensors(*stack, n, [&](const Tensor& t) { return belongsTo(t, level) ? storageOf(t).value : t; });
  given.replacedBy(*stack);
  {
    const Outside outside;
    op.callBoxed(stack);
  }
  given.putBack(*stack, [&](const Tensor& t) { return makeTracked(level, t); });
  given.forEachWritten([&](const Tensor& t) {
    if (belongsTo(t, level)) followValue(t);
  });
}

namespace {

struct Registrar {
  Registrar()
      : batched(Library::Kind::kImpl, "_", DispatchKey::Batched),
        back(Library::Kind::kImpl, "_", DispatchKey::TransformBack) {
    batched.fallback(CppFunction::makeFromBoxedFunction<&batchedFallback>());
    back.fallback(CppFunction::makeFromBoxedFunction<&transformBack>());
  }
  Library batched, back;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt::levels

namespace shunt {
VmapCounters vmap_counters() {
  return {levels::rules_used.load(std::memory_order_relaxed), levels::fallbacks_used.load(std::memory_order_relaxed)};
}
}  // namespace shunt
