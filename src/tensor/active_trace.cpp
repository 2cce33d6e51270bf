#include "src/tensor/active_trace.h"

#include <shunt/core/tls.h>

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

}  // namespace shunt
