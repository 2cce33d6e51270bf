// Checkpoints for tests, in sanitizer builds only: every allocation of a block calls the hook. There a test does what a
// thunk that is running must survive, for instance retires every thunk. Such builds have no free lists, so that no
// allocation is made past the hook, and freed blocks are the system's again at once.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // cmake/Flags.cmake, for the bitcode too
#define SHUNT_STRESS

#include <shunt/core/macros.h>

#include <atomic>

namespace shunt::detail {

/// Called on the allocating thread, which holds no lock of the library's. Null: nothing is called.
SHUNT_API extern std::atomic<void (*)()> stress_checkpoint;

}  // namespace shunt::detail
#endif
