#include "jit/host/stopping.h"

#include <atomic>

namespace shunt::jit {
namespace {

std::atomic<bool> stopping{false};  // relaxed: it says when to stop, and nothing about other memory

}  // namespace

void beginStopping() noexcept { stopping.store(true, std::memory_order_relaxed); }

bool isStopping() noexcept { return stopping.load(std::memory_order_relaxed); }

void leaveOutPassesWhenStopping(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef, llvm::Any) { return !isStopping(); });
}

}  // namespace shunt::jit
