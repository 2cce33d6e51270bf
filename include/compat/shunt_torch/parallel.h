// at::parallel_for and what stands around it, over Shunt's pool of threads.
//
// As PyTorch's, and unlike shunt::parallelFor, the chunks follow the number of threads: there are no more of them than
// threads, none is smaller than the grain, and get_thread_num() is different in each. A function that adds up in
// chunks may so have other results with another number of threads.
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
/// The whole range where it isn't to be shared.
inline int64_t chunkOf(int64_t begin, int64_t end, int64_t grain) {
  SHUNT_CHECK(grain >= 0, "parallel_for: expected a grain size of 0 or more, got ", grain);
  const int64_t count = end - begin;
  if (in_parallel_region() || get_num_threads() == 1 || count <= std::max<int64_t>(1, grain)) return count;
  return std::max(grain, divup(count, get_num_threads()));
}
}  // namespace detail

/// Of the chunk that runs: 0 outside, and below get_num_threads().
inline int get_thread_num() { return detail::thread_number; }

/// f(b, e) for chunks of [begin, end), at the same time. f must not call operators.
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

/// combine(a, b) of f(b, e, identity) for all chunks, in their order.
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

/// Fewer elements than this, PyTorch's kernels leave to one thread.
inline constexpr int64_t GRAIN_SIZE = 32768;

}  // namespace shunt
