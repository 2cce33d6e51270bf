// SHUNT_TRACE: every dispatch step, by default one line each on stderr.
#include "src/dispatch/thunk.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/environment.h>

#include <cstdio>

namespace shunt {
namespace detail {

std::atomic<bool> trace_enabled{flagFromEnvironment("SHUNT_TRACE", false)};

namespace {

void printStep(const TraceStep& step) {
  const std::string line = str("shunt: ", std::string(2 * static_cast<size_t>(step.depth), ' '), step.kind, " ", step.op.operator_name(),
                               " keys={", step.keys, "} -> ", step.key, " [", step.reason, "]\n");
  std::fputs(line.c_str(), stderr);
}

std::atomic<TraceSink> trace_sink{&printStep};

}  // namespace

void traceStep(const char* kind, const OpState& state, DispatchKeySet ks) {
  trace_sink.load(std::memory_order_acquire)(TraceStep{kind, OperatorHandle(*state.op()), ks, ks.highestPriorityKey(),
                                                       toString(state.lookup(ks).reason), threadFrames().depth()});
}

}  // namespace detail

void set_trace(bool on, TraceSink sink) {
  detail::trace_sink.store(sink != nullptr ? sink : &detail::printStep, std::memory_order_release);
  detail::trace_enabled.store(on, std::memory_order_relaxed);
}

}  // namespace shunt
