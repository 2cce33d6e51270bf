// What sources written for PyTorch ask the process for: its context, the CPU's generator. Any thread.
#pragma once

#include <shunt/shunt.h>

#include <mutex>
#include <string>

namespace shunt {

/// Settings by the names of at::Context. One for the process.
class Context {
 public:
  bool hasCUDA() const { return cuda::is_available(); }
};
inline Context& globalContext() {
  static Context context;
  return context;
}

/// The CPU's default generator, with a lock for callers that set it and draw. Operators lock it for themselves.
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
// Operators that sources mention and the dictionary lacks. An operator of the name is preferred to "...".
inline Tensor addmv(const Tensor&, const Tensor&, const Tensor&, ...) { throwMissing("addmv"); }
inline Tensor avg_pool3d(const Tensor&, ...) { throwMissing("avg_pool3d"); }
inline Tensor max_pool3d(const Tensor&, ...) { throwMissing("max_pool3d"); }

/// A number of PyTorch's that is known only when a program runs.
struct SymIntNodeImpl : intrusive_ptr_target {
  SymIntNodeImpl() { throw NotImplementedError("SymIntNodeImpl: sizes are numbers in Shunt"); }
  SymInt toSymInt() const { return 0; }
};

}  // namespace shunt
