// trace()'s way in and out: see Note [Tracing].
#include <shunt/trace/trace.h>

#include <shunt/core/tls.h>

#include <shunt/ops.h>

#include "src/trace/recording.h"
#include "src/trace/results.h"
#include "src/trace/traced_tensor.h"
#include "src/transforms/autocast/cast_cache.h"

namespace shunt::detail {

TraceCall::TraceCall(const TraceOptions& options)
    : options_(options), recording_(make_intrusive<Recording>(options.fake)) {
  SHUNT_CHECK(currentRecording() == nullptr,
              "trace: called inside of a function that trace() records already; call the function itself there");
  SHUNT_CHECK(!tls_is_included(DispatchKey::Batched),
              "trace: called inside of a function that vmap or grad runs; trace the transformed function instead: "
              "trace(vmap(f), inputs)");
  SHUNT_CHECK(!FunctionalizeGuard::is_enabled(),
              "trace: called under a FunctionalizeGuard, which stands above it; take the guard away, and ask for "
              "TraceOptions::functionalize where the graph is not to write");
}

TraceCall::~TraceCall() { recording().close(); }

Recording& TraceCall::recording() const { return *static_cast<Recording*>(recording_.get()); }

Tensor TraceCall::input(const Tensor& t) { return recording().addInput(t); }

TraceCall::Scope::Scope(TraceCall& call)
    : call_(call), included_(tls_state.included), casts_(std::make_unique<autocast::CastCacheAside>()) {
  constexpr uint64_t kTracer = DispatchKeySet::of(Functionality::Tracer).raw();
  constexpr uint64_t kFake = DispatchKeySet::of(Functionality::Fake).raw();
  tls_state.included |= kTracer | (call.options_.fake ? kFake : 0);
  setCurrentRecording(&call.recording());
}

TraceCall::Scope::~Scope() {
  tls_state.included = included_;
  setCurrentRecording(nullptr);
}

void TraceCall::output(const Tensor& t) {
  Recording& r = recording();
  std::vector<Graph::Value*> outputs = r.graph.outputs();
  outputs.push_back(r.valueOf(t));
  results_.push_back(r.innerOf(t));
  r.graph.setOutputs(std::move(outputs));
}

Tensor TraceCall::placeholder() {
  const trace_detail::TracerOff off;
  const ExcludeDispatchKeyGuard real({DispatchKey::Fake, DispatchKey::Functionalize});
  return ops::empty_memory_format::call({0}, kFloat, {}, {}, {}, {});
}

void TracedResults::takeApart(TraceCall& call, std::function<bool(const OperatorHandle&)> which) {
  call.recording().takes_apart_too = std::move(which);
}
void TracedResults::refuseElements(TraceCall& call) { call.recording().refuses_elements = true; }
const std::vector<Tensor>& TracedResults::outputs(const TraceCall& call) { return call.results_; }
const std::vector<std::pair<Tensor, Tensor>>& TracedResults::captured(const TraceCall& call) {
  return call.recording().captured();
}
const std::unordered_map<const Operator*, uint64_t>& TracedResults::seen(const TraceCall& call) {
  return call.recording().seen();
}
bool TracedResults::seeded(const TraceCall& call) { return call.recording().wasSeeded(); }
const std::string& TracedResults::seededAt(const TraceCall& call) { return call.recording().seededAt(); }
bool TracedResults::differentiated(const TraceCall& call) { return call.recording().differentiated(); }
bool TracedResults::createdGraph(const TraceCall& call) { return call.recording().createdGraph(); }
bool TracedResults::savedClones(const TraceCall& call) { return call.recording().savedClones(); }
bool TracedResults::readVersionFromOutside(const TraceCall& call) { return call.recording().readVersionFromOutside(); }
bool TracedResults::readOffsetFromOutside(const TraceCall& call) { return call.recording().readOffsetFromOutside(); }
bool TracedResults::calledWithOtherDtype(const TraceCall& call) { return call.recording().calledWithOtherDtype(); }
const std::string& TracedResults::readVersionAt(const TraceCall& call) { return call.recording().readVersionAt(); }
std::vector<std::pair<Tensor, const Graph::Value*>> TracedResults::living(const TraceCall& call) {
  std::vector<std::pair<Tensor, const Graph::Value*>> out;
  for (const Tensor& t : call.recording().living()) out.emplace_back(t, trace_detail::tracedOf(t)->value());
  return out;
}

Graph TraceCall::finish() {
  Recording& r = recording();
  {
    const Scope on(*this);
    r.syncGrads();
  }
  Graph graph = std::move(r.graph);
  r.close();
  return options_.functionalize ? graph.functionalized() : std::move(graph);
}

}  // namespace shunt::detail
