// A call that is unboxed, boxed and unboxed again on its way to a kernel. For tests; one thread.
#pragma once

#include "tests/dispatch/util.h"

namespace shunt::test {

/// Registers `kernel` unboxed as CPU and, as Tracer, a boxed kernel that only redispatches: so one call goes from C++
/// to the stack and back to C++.
template <class F>
struct RoundTrip {
  RoundTrip(const char* schema, F kernel)
      : def(fragment("box")), cpu(implBlock("box", DispatchKey::CPU)), boxed(implBlock("box", DispatchKey::Tracer)) {
    def.def(schema);
    const OperatorName name = parseSchema(schema).operator_name();
    cpu.impl(name.str(), kernel);
    boxed.impl(name.str(),
               CppFunction::makeFromBoxed([this](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
                 ++boxed_calls;
                 op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), stack);
               }));
    full_name = "box::" + name.name;
    overload = name.overload_name;
  }
  auto typed() {
    return findOp(full_name.c_str(), overload.c_str()).template typed<typename boxing::FunctionTraits<F>::Signature>();
  }

  Library def, cpu, boxed;
  std::string full_name, overload;
  int boxed_calls = 0;
};

}  // namespace shunt::test
