// What a recording has to be told of operators whose tables it relies on, though none of their calls comes to it:
// levels of vmap and grad, and functionalize, ask tables and run composites above the key Tracer. src/trace sets who is
// told. Each thread has its own.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt::detail {

class Reliance {
 public:
  /// What the thread does from here on holds as long as the operator's table is what it is now.
  virtual void see(const Operator& op) = 0;
  /// Whether see() has had the operators with a program's own kernels for the key Batched, which stands above Tracer.
  bool saw_batching_rules = false;

 protected:
  ~Reliance() = default;
};

/// Null where the thread records nothing.
extern constinit thread_local Reliance* reliance SHUNT_TLS_MODEL;

inline void relyOn(const Operator& op) {
  if (reliance != nullptr) [[unlikely]]
    reliance->see(op);
}

}  // namespace shunt::detail
