// SHUNT_TRACE: one line a dispatch step on stderr.
#include "src/dispatch/compute_table.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace shunt {
namespace detail {

namespace {
bool traceFromEnvironment() {
  const char* v = std::getenv("SHUNT_TRACE");
  if (v == nullptr || std::string_view(v).empty() || std::string_view(v) == "0") return false;
  if (std::string_view(v) != "1") std::fprintf(stderr, "shunt: SHUNT_TRACE=%s is neither 0 nor 1; tracing is off\n", v);
  return std::string_view(v) == "1";
}
}  // namespace

std::atomic<bool> trace_enabled{traceFromEnvironment()};

void traceStep(const char* kind, const OpState& state, DispatchKeySet ks) {
  const auto key = ks.highestPriorityKey();
  const std::string line = str("shunt: ", std::string(2 * static_cast<size_t>(threadFrames().depth()), ' '), kind, " ", OperatorHandle(*state.op()).operator_name(),
                               " keys={", ks, "} -> ", key, " [", toString(state.lookup(ks).reason), "]\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace detail

void set_trace(bool on) { detail::trace_enabled.store(on, std::memory_order_relaxed); }

}  // namespace shunt
