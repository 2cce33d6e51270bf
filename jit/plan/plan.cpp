#include "jit/plan/plan.h"

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
    case StepVerdict::kInline: return "inline";
    case StepVerdict::kCall: return "call";
    case StepVerdict::kRefuse: return "refuse";
  }
  return "?";
}

/// Every slot that some key of the set can lead to, and Undefined for the empty rest.
std::vector<Edge> edgesOf(const OpSnapshot& op, DispatchKeySet ks) {
  std::vector<Edge> edges;
  for (DispatchKey key : ks.keys()) {
    const int slot = static_cast<int>(key);
    edges.push_back({op.op, slot, op.table[static_cast<size_t>(slot)].version});
  }
  edges.push_back({op.op, 0, op.table[0].version});
  return edges;
}

}  // namespace

Plan Plan::make(const CompileRequest& request, const Libraries& libraries) {
  Plan plan;
  plan.request = request;
  plan.op = snapshot(*request.op);
  if (plan.op.op == nullptr) {
    plan.refusal = "the operator is not registered any more";
    return plan;
  }
  if (const void* loop = request.record.places.loop)
    plan.loop = libraries.symbolOf(loop);
  auto ks = DispatchKeySet::fromRaw(request.keys);
  plan.edges = edgesOf(plan.op, ks);
  while (true) {
    plan.steps.push_back(makeStep(plan.op, ks, libraries));
    const Step& step = plan.steps.back();
    if (step.verdict == StepVerdict::kRefuse && plan.steps.size() > 1) {
      plan.steps.pop_back();
      plan.open = true;
      break;
    }
    if (step.verdict == StepVerdict::kRefuse) {
      plan.refusal = shunt::detail::str(step.key, ": ", step.why);
      return plan;
    }
    // A kernel that is only called makes its own redispatches through the host's table.
    if (step.verdict == StepVerdict::kCall || isBottom(step.key)) break;
    ks = ks & DispatchKeySet::fullAfter(step.key);
    ks = ks & plan.op.maskFor(ks);
  }
  if (plan.steps.front().verdict != StepVerdict::kInline)
    plan.refusal = shunt::detail::str(plan.steps.front().key, ": nothing to inline: ", plan.steps.front().why);
  return plan;
}

PlanOutline Plan::outline() const {
  PlanOutline out{{}, refusal, print()};
  for (const Step& s : steps) out.steps.push_back({s.key, text(s.verdict), s.why, s.symbol});
  return out;
}

std::string Plan::print() const {
  std::ostringstream out;
  out << "plan for " << op.name << " keys={" << shunt::toString(DispatchKeySet::fromRaw(request.keys)) << "}\n";
  for (const Step& s : steps)
    out << "  " << s.key << " [" << toString(s.entry.reason) << "] " << text(s.verdict)
        << (s.why.empty() ? "" : " (" + s.why + ")") << ' ' << s.symbol << '\n';
  if (open) out << "  below: by the host's table\n";
  const auto& r = request.record;
  constexpr const char* kForms[] = {"none seen", "functional", "out=", "in place"};
  // kernels/elementwise/expected.h adds to the record's own kinds.
  constexpr const char* kKinds[] = {"-", "same shape", "one element", "number", "other", "one element with dimensions",
                                    "column", "strided, 1", "strided, 0"};
  using shunt::detail::LoopRecord;
  out << "  loop: " << kForms[r.form];
  if (r.form != LoopRecord::kUnseen) {
    out << ' ' << r.places.family << ", common dtype " << r.common;
    for (int i = 0; i < LoopRecord::kMaxInputs && r.kind[i] != LoopRecord::kNone; ++i) {
      out << "; input " << i << ": " << kKinds[r.kind[i]];
      if (r.kind[i] != LoopRecord::kNumber) out << ' ' << shunt::detail::signature::dtypeOf(r.signature[i]);
    }
  }
  out << '\n';
  if (!refusal.empty()) out << "  refused: " << refusal << '\n';
  return std::move(out).str();
}

}  // namespace shunt::jit
