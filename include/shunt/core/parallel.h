// parallelFor: how kernels share work among threads, and the number of threads that they may use.
//
// Work runs in the process's oneTBB pool. Any thread may call these functions. The number of threads is
// SHUNT_NUM_THREADS, else that of the hardware threads, until set_num_threads changes it for the whole process.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// The default grain, in elements: for fewer, a second thread doesn't pay.
inline constexpr int64_t kDefaultGrain = 32 * 1024;

/// Calls `f(b, e)` for the chunks [begin + k * grain, min(begin + (k + 1) * grain, end)), in any order and on any
/// threads, and returns when all are done.
/// - The chunks don't depend on the number of threads.
/// - In these cases the caller's thread runs the chunks, in order:
///   - there is one chunk, or one thread;
///   - inside another parallelFor;
///   - in a child of fork whose parent used the pool before, as the child lacks its threads;
///   - under ThreadSanitizer, which reports false races in a oneTBB that it did not instrument.
/// - The first exception is rethrown in the caller; chunks that have not begun are dropped.
/// - `f` must not call operators: it runs without the caller's thread-local dispatch state.
SHUNT_API void parallelFor(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> f);

/// How many threads a kernel may use.
SHUNT_API int get_num_threads();
/// Applies to calls that begin later, on all threads. Throws unless `n` is positive.
SHUNT_API void set_num_threads(int n);
/// Whether the calling thread is inside a parallelFor.
SHUNT_API bool in_parallel_region();

}  // namespace shunt
