// Passes that record a graph once more while it runs on fake tensors: decompose, functionalized.
#include "src/trace/retrace.h"

#include <shunt/core/tls.h>
#include <shunt/trace/graph.h>
#include <shunt/transforms/functionalize.h>

namespace shunt {

using trace_detail::Interpreter;
using trace_detail::Retrace;

Graph Graph::decompose(const std::function<bool(const OperatorHandle&)>& keep) const {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched});
  Retrace retrace(*this);
  retrace.recording().takes_apart = [&](const OperatorHandle& op) { return keep == nullptr || !keep(op); };
  return retrace.run([&](const Value& v) { return retrace.wrapper(v); }, [](const Interpreter&) {},
                     [](const Tensor& t) { return t; });
}

Graph Graph::functionalized() const {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Batched});
  Retrace retrace(*this);
  retrace.recording().takes_apart = [](const OperatorHandle&) { return false; };
  detail::FunctionalizeCall call;
  const FunctionalizeGuard guard;
  return retrace.run([&](const Value& v) { return call.wrap(retrace.wrapper(v)); },
                     [&](const Interpreter&) { call.writeBack(); },
                     [&](const Tensor& t) { return is_functional(t) ? call.unwrap(t) : t; });
}

}  // namespace shunt
