#include "jit/plan/plan.h"

#include <algorithm>
#include <sstream>

namespace shunt::jit {
namespace {

bool isBottom(DispatchKey key) {
  return key == DispatchKey::Undefined || kBackendFunctionalities.has(partsOf(key).functionality);
}

Step makeStep(const OpSnapshot& op, DispatchKeySet ks, const Libraries& libraries) {
  Step s;
  s.key = ks.highestPriorityKey();
  s.keys = ks;
  s.entry = op.lookup(ks);
  if (s.entry.unboxed == nullptr) {
    s.why = s.entry.reason == EntryReason::kMissing ? "no kernel" : "the kernel is boxed";
    return s;
  }
  s.symbol = libraries.symbolOf(s.entry.unboxed);
  s.verdict = !s.symbol.empty() && libraries.has(s.symbol) ? StepVerdict::kInline : StepVerdict::kCall;
  if (s.verdict == StepVerdict::kCall) s.why = s.symbol.empty() ? "its library has no bitcode" : "no bitcode";
  return s;
}

const char* text(StepVerdict v) {
  switch (v) {
    case StepVerdict::kInline:
      return "inline";
    case StepVerdict::kCall:
      return "call";
    case StepVerdict::kRefuse:
      return "refuse";
  }
  return "?";
}

void printSteps(std::ostream& out, const Chain& chain, const ChainUse& use, const char* indent) {
  for (const Step& s : chain.steps)
    out << indent << s.key << " [" << toString(s.entry.reason) << "] " << text(s.verdict)
        << (s.why.empty() ? "" : " (" + s.why + ")") << ' ' << s.symbol << '\n';
  if (chain.open) out << indent << "below: by the host's table\n";
  ChainUse foreseen;
  foreseen.relyOn(chain.keys);
  for (size_t slot = 0; slot < use.slots.size(); ++slot)
    if (use.slots.test(slot) && !foreseen.slots.test(slot))
      out << indent << "relies on " << keyOfSlot(slot) << " too, by a kernel's redispatch\n";
}

/// The operators that the recorded call called, where their own thunks would hold no more than their chains.
std::vector<Chain> innerChains(const CompileRequest& request, const Libraries& libraries) {
  std::vector<Chain> out;
  for (const InnerCall& call : request.calls) {
    if (call.op == nullptr || call.op == request.op || call.has_loop || call.keys == 0) continue;
    std::string refusal;
    Chain chain = Chain::walk(*call.op, DispatchKeySet::fromRaw(call.keys), libraries, refusal);
    // Where it goes on depends on arguments that are no tensors.
    const bool selects = std::any_of(chain.steps.begin(), chain.steps.end(),
                                     [](const Step& s) { return s.key == DispatchKey::BackendSelect; });
    if (refusal.empty() && !selects) out.push_back(std::move(chain));
  }
  return out;
}

void addEdges(const OpSnapshot& op, const ChainUse& use, std::vector<Edge>& edges) {
  for (size_t slot = 0; slot < use.slots.size(); ++slot)
    if (use.slots.test(slot)) edges.push_back({op.op, static_cast<int>(slot), op.table[slot].version});
}

}  // namespace

bool ChainUse::relyOn(DispatchKeySet ks) {
  const auto before = slots;
  // Without a backend the first one counts.
  if (ks.backends().empty()) ks = ks | DispatchKeySet::of(BackendComponent::CPU);
  for (DispatchKey key : ks.keys()) slots.set(static_cast<size_t>(slotOf(key)));
  slots.set(static_cast<size_t>(slotOf(DispatchKey::Undefined)));
  return slots != before;
}

Chain Chain::walk(const Operator& op, DispatchKeySet keys, const Libraries& libraries, std::string& refusal) {
  Chain chain;
  chain.op = snapshot(op);
  chain.keys = keys;
  if (chain.op.op == nullptr) {
    refusal = "the operator is not registered any more";
    return chain;
  }
  for (DispatchKeySet ks = keys;;) {
    chain.steps.push_back(makeStep(chain.op, ks, libraries));
    const Step& step = chain.steps.back();
    if (step.verdict == StepVerdict::kRefuse && chain.steps.size() > 1) {
      chain.steps.pop_back();
      chain.open = true;
      break;
    }
    if (step.verdict == StepVerdict::kRefuse) {
      refusal = shunt::detail::str(step.key, ": ", step.why);
      return chain;
    }
    // A kernel that is only called makes its own redispatches through the host's table.
    if (step.verdict == StepVerdict::kCall || isBottom(step.key)) break;
    ks = ks & DispatchKeySet::fullAfter(step.key);
    ks = ks & chain.op.maskFor(ks);
  }
  if (chain.steps.front().verdict != StepVerdict::kInline)
    refusal = shunt::detail::str(chain.steps.front().key, ": nothing to inline: ", chain.steps.front().why);
  // Below Autograd, the modes' handlers have the call.
  else if (keys.has(DispatchKey::PythonKernel))
    refusal = shunt::detail::str(DispatchKey::PythonKernel, ": dispatch modes see the call");
  // What runs below Autograd on fake tensors is boxed, and beside it a thunk saves nothing (Note [Fake tensors]).
  else if (keys.has(DispatchKey::Fake))
    refusal = shunt::detail::str(DispatchKey::Fake, ": fake tensors have no elements to compute");
  return chain;
}

Plan Plan::make(const CompileRequest& request, const Libraries& libraries) {
  Plan plan;
  static_cast<Chain&>(plan) = walk(*request.op, DispatchKeySet::fromRaw(request.keys), libraries, plan.refusal);
  plan.request = request;
  if (plan.op.op == nullptr) return plan;
  for (size_t kind = 0; kind < plan.loops.size(); ++kind) {
    const auto& places = request.kinds[kind].places;
    if (places.loop != nullptr) plan.loops[kind] = libraries.symbolOf(places.loop);
    if (plan.loops[kind].empty() && places.ready != nullptr) plan.loops[kind] = kReadyLoop;
  }
  if (plan.refusal.empty()) plan.inner = innerChains(request, libraries);
  return plan;
}

bool Plan::usesOtherLibraries() const {
  const auto isOther = [](const std::string& symbol) { return QualifiedName::parse(symbol).has_value(); };
  const auto anyOther = [&](const Chain& chain) {
    return std::any_of(chain.steps.begin(), chain.steps.end(),
                       [&](const Step& s) { return s.verdict == StepVerdict::kInline && isOther(s.symbol); });
  };
  return std::ranges::any_of(loops, isOther) || anyOther(*this) || std::any_of(inner.begin(), inner.end(), anyOther);
}

Plan Plan::ofTier(Tier tier) const {
  Plan plan = *this;
  plan.request.tier = tier;
  return plan;
}

bool Plan::expects(size_t kind) const {
  return !loops[kind].empty() && (request.tier == Tier::kSecond || firstTierExpects(request.kinds[kind]));
}

bool Plan::callsLoop(size_t kind, Tier tier) const {
  const auto& places = request.kinds[kind].places;
  return places.ready != nullptr && (tier == Tier::kFirst || loops[kind] == kReadyLoop);
}

bool Plan::specialises() const {
  for (size_t kind = 0; kind < loops.size(); ++kind)
    if (!loops[kind].empty() && !callsLoop(kind, Tier::kSecond)) return true;
  return false;
}

bool Plan::countsUnexpected() const {
  const auto& first = request.kinds[0];
  return first.form != shunt::detail::LoopRecord::kUnseen && !first.places.hasLoop();
}

bool Plan::expectsOperands() const {
  bool any = false;
  for (size_t kind = 0; kind < loops.size(); ++kind) any |= expects(kind);
  return any;
}

Reliance Plan::foreseen() const {
  Reliance reliance(1 + inner.size());
  for (size_t place = 0; place < reliance.size(); ++place) reliance[place].relyOn(chain(place)->keys);
  reliance.front().used = true;
  return reliance;
}

std::vector<Edge> Plan::edges(const Reliance& reliance) const {
  std::vector<Edge> edges;
  for (size_t place = 0; place < reliance.size(); ++place)
    if (reliance[place].used) addEdges(chain(place)->op, reliance[place], edges);
  for (const SettingRead& s : request.settings)
    if (s.setting >= 0) edges.push_back({nullptr, s.setting, s.version});
  return edges;
}

PlanOutline Plan::outline() const {
  PlanOutline out{{}, refusal, print()};
  for (const Step& s : steps) out.steps.push_back({s.key, text(s.verdict), s.why, s.symbol});
  return out;
}

namespace {

using shunt::detail::LoopRecord;

// A loop record's own kinds, and those that kernels/pointwise/expected.h adds to them.
constexpr const char* kKindNames[] = {
    "-",          "same shape", "one element",       "number", "other",   "one element with dimensions", "column",
    "strided, 1", "strided, 0", "strided, gathered", "bool",   "integer", "floating-point number",       "-",
    "row"};
constexpr uint8_t kDtypeGiven = 13;  // stands in the place of an input, but is none

std::string kindName(uint8_t kind) {
  return kind < std::size(kKindNames) ? kKindNames[kind] : "kind " + std::to_string(kind);
}

void printOperands(std::ostream& out, const LoopRecord& r, bool is_called) {
  constexpr const char* kForms[] = {"none seen", "functional", "out=", "in place"};
  out << kForms[r.form];
  if (r.form == LoopRecord::kUnseen) return;
  out << ' ' << r.places.family;
  if (!r.places.hasLoop()) return static_cast<void>(out << ", operands that no guard expects");
  out << ", common dtype " << r.common;
  for (int i = 0; i < LoopRecord::kMaxInputs && r.kind[i] != LoopRecord::kNone && r.kind[i] != kDtypeGiven; ++i) {
    out << "; input " << i << ": " << kindName(r.kind[i]);
    if (r.signature[i] != 0) out << ' ' << shunt::detail::signature::dtypeOf(r.signature[i]);
  }
  if (std::ranges::find(r.kind, kDtypeGiven) != std::end(r.kind)) out << "; common dtype given by the kernel";
  if (is_called) out << "; loop ahead of time";
}

}  // namespace

std::string Plan::print(const Reliance& reliance) const {
  std::ostringstream out;
  out << "plan for " << op.name << " keys={" << shunt::toString(DispatchKeySet::fromRaw(request.keys)) << "}"
      << (request.tier == Tier::kFirst ? ", first tier" : "") << '\n';
  printSteps(out, *this, reliance.front(), "  ");
  for (size_t i = 0; i < inner.size(); ++i) {
    const ChainUse& use = reliance[i + 1];
    out << "  where it calls " << inner[i].op.name << " with keys={" << shunt::toString(inner[i].keys)
        << (use.used ? "}, inlined\n" : "}\n");
    printSteps(out, inner[i], use, "    ");
  }
  const auto kinds = static_cast<size_t>(std::max(countOf(request.kinds), 1));
  for (size_t kind = 0; kind < kinds; ++kind) {
    out << (kind == 0 ? "  loop: " : "  or: ");
    printOperands(out, request.kinds[kind], callsLoop(kind, request.tier));
    out << '\n';
  }
  if (!refusal.empty()) out << "  refused: " << refusal << '\n';
  return std::move(out).str();
}

}  // namespace shunt::jit
