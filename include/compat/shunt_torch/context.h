// Process-wide objects by PyTorch's names: the context and the CPU's generator; and operators that Shunt lacks. Any
// thread.
#pragma once

#include <shunt/shunt.h>

#include <mutex>
#include <string>

namespace shunt {

/// Settings by the names of at::Context. globalContext() returns the only instance.
class Context {
 public:
  bool hasCUDA() const { return cuda::is_available(); }
};
inline Context& globalContext() {
  static Context context;
  return context;
}

/// The CPU's default generator, with a mutex for callers that seed it and draw. Operators do their own locking.
class CPUGenerator : public Generator {
 public:
  CPUGenerator() : Generator(default_generator()) {}
  std::mutex& mutex() const {
    static std::mutex mutex;
    return mutex;
  }
};

namespace detail {
inline CPUGenerator getDefaultCPUGenerator() { return {}; }
}  // namespace detail

[[noreturn]] inline void throwMissing(const char* name) {
  throw NotImplementedError(std::string(name) + "(): Shunt has no such operator");
}
// Operators that sources mention and Shunt lacks. If Shunt gets one, overload resolution prefers it to "...".
inline Tensor addmv(const Tensor&, const Tensor&, const Tensor&, ...) { throwMissing("addmv"); }
inline Tensor avg_pool3d(const Tensor&, ...) { throwMissing("avg_pool3d"); }
inline Tensor max_pool3d(const Tensor&, ...) { throwMissing("max_pool3d"); }

/// PyTorch's symbolic integer. The constructor throws.
struct SymIntNodeImpl : intrusive_ptr_target {
  SymIntNodeImpl() { throw NotImplementedError("SymIntNodeImpl: sizes are numbers in Shunt"); }
  SymInt toSymInt() const { return 0; }
};

}  // namespace shunt
