// RequestQueue: what waits for the compiler's thread. Not synchronised: its owner's lock guards it.
#pragma once

#include <shunt/jit/provider.h>

#include <cstdint>
#include <deque>

namespace shunt::jit {

/// What a pair has while it waits. Those that are interpreted are compiled first, each kind first in, first out.
enum class Waiting : uint8_t { kInterpreted, kWithThunk };

class RequestQueue {
 public:
  static constexpr size_t kMost = 4096;  // of each kind

  /// False: it is full.
  bool push(const CompileRequest& request, Waiting waiting) {
    std::deque<CompileRequest>& mine = waiting == Waiting::kInterpreted ? interpreted_ : with_thunk_;
    if (mine.size() >= kMost) return false;
    mine.push_back(request);
    return true;
  }
  /// Not of an empty queue.
  CompileRequest pop() {
    std::deque<CompileRequest>& next = interpreted_.empty() ? with_thunk_ : interpreted_;
    CompileRequest request = std::move(next.front());
    next.pop_front();
    return request;
  }
  bool empty() const { return interpreted_.empty() && with_thunk_.empty(); }

 private:
  std::deque<CompileRequest> interpreted_, with_thunk_;
};

}  // namespace shunt::jit
