// jit::explain: gathers from the dispatcher, the pairs, the compiler and the invalidation log what each knows of one
// call.
#include <shunt/jit/explain.h>

#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/origins.h"
#include "src/dispatch/state_in_use.h"
#include "src/dispatch/thunk.h"
#include "src/interpose/active_modes.h"
#include "src/tiering/compiler.h"
#include "src/tiering/pairs.h"
#include "src/tiering/switches.h"

#include <shunt/core/complete_arguments.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/interpose/tensor_subclass.h>
#include <shunt/transforms/autocast.h>

#include <algorithm>

namespace shunt::jit {
namespace {

using shunt::detail::str;

constexpr DispatchKeySet kBelowModes = DispatchKeySet::fullAfter(DispatchKey::PythonKernel);

std::string describe(const IValue& v) {
  if (!v.isTensor()) return str(v);
  const Tensor& t = v.toTensor();
  if (!t.defined()) return "undefined";
  return str(t.dtype(), " ", t.sizes(), " on ", t.device(), ", ", toString(t.unsafeGetTensorImpl()->layout_class()),
             t.requires_grad() ? ", requires grad" : "");
}

void fillModes(Explanation& e) {
  e.grad = GradMode::is_enabled();
  e.inference = InferenceMode::is_enabled();
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    const auto device = static_cast<DeviceType>(i);
    const DispatchKey key = autocastKeyOf(backendOf(device));
    if (key == DispatchKey::Undefined || deviceTypeOf(backendOf(device)) != device || tls_is_excluded(key)) continue;
    e.autocast[toString(key)] = toString(autocast::lower_precision_dtype(device));
  }
  e.modes = str("grad ", e.grad ? "on" : "off", ", inference ", e.inference ? "on" : "off", ", autocast",
                e.autocast.empty() ? " off" : "");
  for (const auto& [key, dtype] : e.autocast)
    e.modes += str(key == e.autocast.begin()->first ? " " : ", ", key, " to ", dtype);
}

/// What a tensor's keys make of it, the outermost wrapper first; of a list's first wrapper.
std::string wrapperOf(const IValue& value) {
  constexpr std::pair<Functionality, const char*> kWrappers[] = {{Functionality::Python, "subclass"},
                                                                 {Functionality::Functionalize, "functional"},
                                                                 {Functionality::Batched, "batched"},
                                                                 {Functionality::Fake, "fake"}};
  std::string out;
  forEachTensor(value, [&](const Tensor& t) {
    if (!out.empty()) return;
    for (const auto& [functionality, name] : kWrappers) {
      if (!t.key_set().has(functionality)) continue;
      out += str(out.empty() ? "" : ", ", name);
      if (const auto* subclass = wrapper_cast<TensorSubclass>(t);
          subclass != nullptr && functionality == Functionality::Python)
        out += " " + subclass->name();
    }
  });
  return out;
}

/// The thread's sets name functionalities, not keys of a backend.
std::string functionalitiesOf(DispatchKeySet keys) {
  std::string out;
  for (int i = 0; i < kNumFunctionalities; ++i) {
    const auto f = static_cast<Functionality>(i);
    if (keys.has(f)) out += str(out.empty() ? "" : ", ", toString(f));
  }
  return out.empty() ? "(none)" : out;
}

void fillKeys(Explanation& e, DispatchKeySet arguments, DispatchKeySet before_mask, DispatchKeySet looked_at) {
  e.argument_keys = toString(arguments);
  e.included = functionalitiesOf(tls_included());
  e.excluded = functionalitiesOf(tls_excluded());
  e.skipped = functionalitiesOf(DispatchKeySet::fromRaw(before_mask.raw() & ~looked_at.raw()));
  e.keys = toString(looked_at);
  fillModes(e);
}

/// Returns the keys of what the last handler calls, before the operator's mask.
DispatchKeySet fillDispatchModes(Explanation& e, const OperatorHandle& op, DispatchKeySet before_mask,
                                 uint64_t arguments, DispatchKeySet keys) {
  if (!keys.hasAny(kModeKeys)) return before_mask;
  e.dispatch_modes = activeModeNames(DispatchKey::Python);
  if (!e.dispatch_modes.empty() && !DispatchKeySet::fromRaw(arguments).has(DispatchKey::Python))
    before_mask = before_mask.remove(DispatchKey::Python);
  if (!keys.has(DispatchKey::PythonKernel)) return before_mask;
  if (shunt::detail::goesToComposite(*shunt::detail::StateInUse(op.op()), keys & kBelowModes)) return before_mask;
  for (std::string& name : activeModeNames(DispatchKey::PythonKernel)) {
    e.dispatch_modes.push_back(std::move(name));
    ++e.kernel_modes;
  }
  return before_mask.remove(DispatchKey::PythonKernel) - kOffAtKernel;
}

void fillChain(Explanation& e, const CallOrigins& origins, const PlanOutline& plan) {
  for (const SlotOrigin& slot : origins.slots) {
    ExplainedStep& step = e.chain.emplace_back();
    step.key = toString(slot.key);
    step.reason = toString(slot.reason);
    step.place = slot.place;
    step.skipped = slot.skipped;
    const auto planned =
        std::find_if(plan.steps.begin(), plan.steps.end(), [&](const auto& s) { return s.key == slot.key; });
    if (planned == plan.steps.end()) continue;
    step.verdict = planned->verdict;
    step.why = planned->why;
    step.symbol = planned->symbol;
  }
}

void fillThunks(Explanation& e, const CompileRequest& pair) {
  for (const auto& t : publishedThunks()) {
    if (t->op != pair.op) continue;
    e.thunks.push_back(str("{", DispatchKeySet::fromRaw(t->keys), "} (", describeSignature(t->signature), ")"));
    if (t->keys != pair.keys || t->signature != pair.signature) continue;
    e.in_force = true;
    e.pair.speedup = t->timing.speedup();
  }
  for (const InvalidationRecord& r : invalidationLog()) {
    if (r.op != pair.op || r.keys != pair.keys || r.signature != pair.signature) continue;
    e.last_invalidation = r;
    ++e.pair.invalidations;
    e.pair.invalidated_by = r.cause;
  }
}

std::string verdictOf(const Explanation& e, const CompileRequest& pair, const PlanOutline& plan) {
  if (!enabled()) return "interpreted: the JIT is off (SHUNT_JIT=0 or jit::set_enabled(false))";
  if (shunt::detail::trace_enabled.load(std::memory_order_relaxed))
    return "interpreted: dispatch steps are traced, and only the interpreter's can be";
  if (e.in_force) return "compiled: a call like this one runs in its thunk";
  if (pair.keys == 0)
    return "interpreted: the call has no tensors that choose a kernel, and such calls are not observed";
  if (!e.observed) {
    const std::string would = plan.refusal.empty() ? "" : "; it would be refused: " + plan.refusal;
    return str("interpreted: not observed yet; about ", switches().threshold, " calls make it hot", would);
  }
  switch (e.pair.state) {
    case PairState::kQueued:
      return "interpreted: waits for the compiler" + Compiler::instance().whyWaiting();
    case PairState::kRefused:
      return "interpreted: refused: " + e.pair.reason;
    case PairState::kCompiled:
      return "interpreted: its thunk is gone" + (e.last_invalidation ? " (" + e.last_invalidation->cause + ")" : "") +
             "; it counts again from the next call observed on";
    case PairState::kCounting:
      break;
  }
  return str("interpreted: about ", e.counted, " of ", e.threshold, " calls counted",
             e.pair.reason.empty() ? "" : "; the last compile did not end in a thunk: " + e.pair.reason);
}

}  // namespace

Explanation explain(const OperatorHandle& op, Stack given, const std::map<std::string, IValue>& named) {
  const FunctionSchema& schema = op.schema();
  Stack stack = completeArguments(op, std::move(given), named, "explain");
  const uint64_t arguments = boxed::prepare(op, stack);  // for their keys
  Explanation e;
  e.op = op.operator_name().str();
  e.schema = schema.str();
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto keys = DispatchKeySet::fromRaw(boxed::keysOf(stack[i]));
    e.arguments.push_back(
        {schema.arguments()[i].name, describe(stack[i]), keys.empty() ? "" : toString(keys), wrapperOf(stack[i])});
  }
  const auto before_mask = DispatchKeySet::fromRaw((arguments | tls_included().raw()) & ~tls_excluded().raw());
  const CallOrigins origins = originsOf(op.op(), before_mask);
  CompileRequest pair;
  pair.op = &op.op();
  pair.keys = origins.keys.raw();
  if (const DispatchKeySet below = fillDispatchModes(e, op, before_mask, arguments, origins.keys);
      !e.dispatch_modes.empty()) {
    pair.keys = originsOf(op.op(), below).keys.raw();
    e.keys_below_modes = toString(DispatchKeySet::fromRaw(pair.keys));
  }
  pair.signature = boxed::signatureOf(schema, stack);

  const PlanOutline plan =
      enabled() ? Compiler::instance().outline(pair) : PlanOutline();  // off means: LLVM is not even loaded
  fillKeys(e, DispatchKeySet::fromRaw(arguments), before_mask, origins.keys);
  fillChain(e, origins, plan);
  e.signature = describeSignature(pair.signature);
  if (auto known = Pairs::instance().find({pair.op, pair.keys, pair.signature}, switches().threshold)) {
    e.observed = true;
    e.pair = std::move(known->row);
    e.counts_calls = switches().stats;
    e.counted = known->counted;
    e.threshold = known->threshold;
  }
  fillThunks(e, pair);
  e.plan = e.pair.plan.empty() ? plan.printed : e.pair.plan;
  e.verdict = verdictOf(e, pair, plan);
  if (!e.dispatch_modes.empty())
    e.verdict = str("goes to the mode ", e.dispatch_modes.front(),
                    e.kernel_modes == e.dispatch_modes.size() ? ", below Autograd and Autocast" : "",
                    "; below the modes ", e.verdict);
  return e;
}

}  // namespace shunt::jit
