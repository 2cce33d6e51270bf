// Threads: the one function by which kernels share work, and how many threads it may use.
//
// The pool is the process's oneTBB pool; Shunt owns no thread of its own. The functions may be called from any thread.
// The number of threads is SHUNT_NUM_THREADS, or the hardware's, until set_num_threads changes it for the whole
// process.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// Fewer elements than this are not worth a second thread.
inline constexpr int64_t kDefaultGrain = 32 * 1024;

/// Calls `f(b, e)` for the chunks [begin + k * grain, min(begin + (k + 1) * grain, end)), in any order and on any
/// threads, and returns when all are done. The chunks never depend on the number of threads. Runs in the caller's
/// thread, in order, when there is one chunk or one thread, inside another parallelFor, in a child of fork whose parent
/// had used the pool before (its threads are not there), and under ThreadSanitizer (whose reports on a oneTBB that it
/// did not instrument are false). The first exception is rethrown in the caller; chunks not begun are dropped. The
/// callee runs without the caller's thread-local dispatch state: it must not call operators.
SHUNT_API void parallelFor(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> f);

/// How many threads a kernel may use.
SHUNT_API int get_num_threads();
/// For calls that begin after this. Throws unless `n` is positive.
SHUNT_API void set_num_threads(int n);
/// Whether the calling thread is inside a parallelFor.
SHUNT_API bool in_parallel_region();

}  // namespace shunt
