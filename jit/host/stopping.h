// Whether the process is about to end: what is being compiled then is of no use, and exit() waits for the compiler's
// thread. Passes that may be left out are, and no code is generated. Any thread.
#pragma once

#include <llvm/IR/PassInstrumentation.h>

namespace shunt::jit {

/// Why nothing was made then.
inline constexpr const char* kStopped = "the program ends";

void beginStopping() noexcept;
bool isStopping() noexcept;
/// For pipelines with these callbacks.
void leaveOutPassesWhenStopping(llvm::PassInstrumentationCallbacks& callbacks);

}  // namespace shunt::jit
