// at::parallel_for and related functions, on Shunt's thread pool (shunt/core/parallel.h). Any thread.
//
// The chunks depend on the number of threads, as in PyTorch and unlike in shunt::parallelFor:
// - There are no more chunks than threads, and only the last may be smaller than the grain.
// - get_thread_num() differs in each chunk.
// So a function that accumulates by chunk may give other results with another number of threads.
#pragma once

#include <shunt/core/error.h>
#include <shunt/core/parallel.h>

#include <algorithm>
#include <vector>

namespace shunt {

constexpr int64_t divup(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace detail {
inline thread_local int thread_number = 0;
struct ThreadNumber {
  explicit ThreadNumber(int64_t n) { thread_number = static_cast<int>(n); }
  ~ThreadNumber() { thread_number = before; }
  const int before = thread_number;
};
/// The size of a chunk; the whole range if it isn't shared. Throws for a negative grain.
inline int64_t chunkOf(int64_t begin, int64_t end, int64_t grain) {
  SHUNT_CHECK(grain >= 0, "parallel_for: expected a grain size of 0 or more, got ", grain);
  const int64_t count = end - begin;
  if (in_parallel_region() || get_num_threads() == 1 || count <= std::max<int64_t>(1, grain)) return count;
  return std::max(grain, divup(count, get_num_threads()));
}
}  // namespace detail

/// The number of the running chunk, below get_num_threads(); 0 outside a chunk.
inline int get_thread_num() { return detail::thread_number; }

/// Calls f(b, e) for the chunks of [begin, end), concurrently. f must not call operators.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  const int64_t chunk = detail::chunkOf(begin, end, grain_size);
  if (begin >= end) return;
  if (chunk >= end - begin) return f(begin, end);
  parallelFor(begin, end, chunk, [&](int64_t b, int64_t e) {
    const detail::ThreadNumber number((b - begin) / chunk);
    f(b, e);
  });
}

/// Combines the results of f(b, e, identity) for all chunks, in their order.
template <class T, class F, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, const T identity, const F& f,
                  const Combine& combine) {
  const int64_t chunk = detail::chunkOf(begin, end, grain_size);
  if (begin >= end) return identity;
  if (chunk >= end - begin) return f(begin, end, identity);
  struct Part {  // not a vector of T, whose bools would share bytes
    T value;
  };
  std::vector<Part> parts(static_cast<size_t>(divup(end - begin, chunk)), Part{identity});
  parallelFor(begin, end, chunk, [&](int64_t b, int64_t e) {
    const int64_t number = (b - begin) / chunk;
    const detail::ThreadNumber set(number);
    parts[static_cast<size_t>(number)].value = f(b, e, identity);
  });
  T result = identity;
  for (const Part& part : parts) result = combine(result, part.value);
  return result;
}

/// PyTorch's kernels use one thread for fewer elements than this.
inline constexpr int64_t GRAIN_SIZE = 32768;

}  // namespace shunt
