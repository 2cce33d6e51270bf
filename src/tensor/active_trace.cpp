#include "src/tensor/active_trace.h"

#include <shunt/core/tls.h>
#include <shunt/tensor/asked.h>

namespace shunt {
namespace {

constinit thread_local ActiveTrace* active SHUNT_TLS_MODEL = nullptr;

}  // namespace

ActiveTrace* activeTrace() {
  return tls_is_included(DispatchKey::Tracer) && !tls_is_excluded(DispatchKey::Tracer) ? active : nullptr;
}
ActiveTrace* traceAround() { return tls_is_excluded(DispatchKey::Tracer) ? nullptr : active; }
bool isTracing() { return active != nullptr; }
void setActiveTrace(ActiveTrace* trace) { active = trace; }

void detail::noteOffsetAsked(const Tensor& t) {
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsOffset(t);
}
void detail::noteIdentityAsked(const Tensor& t, const char* method) {
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsIdentity(t, method);
}
void detail::noteMemoryAsked(const Tensor& t, const char* method) {
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsMemory(t, method);
}

}  // namespace shunt
