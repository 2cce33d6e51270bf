// RequestQueue: what waits for the compiler's thread. Not synchronised: its owner's lock guards it.
#pragma once

#include "src/tiering/fused_loops.h"

#include <shunt/jit/provider.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <variant>

namespace shunt::jit {

/// What a pair has while it waits. Those that are interpreted are compiled first, then fused loops, which are run by
/// the interpreter's loops meanwhile; each kind first in, first out.
enum class Waiting : uint8_t { kInterpreted, kWithThunk };

class RequestQueue {
 public:
  static constexpr size_t kMost = 4096;  // of each kind
  using Work = std::variant<CompileRequest, std::shared_ptr<FusedLoop>>;

  /// False: it is full.
  bool push(const CompileRequest& request, Waiting waiting) {
    std::deque<CompileRequest>& mine = waiting == Waiting::kInterpreted ? interpreted_ : with_thunk_;
    if (mine.size() >= kMost) return false;
    mine.push_back(request);
    return true;
  }
  bool push(std::shared_ptr<FusedLoop>&& loop) {
    if (fused_.size() >= kMost) return false;
    fused_.push_back(std::move(loop));
    return true;
  }
  /// Not of an empty queue.
  Work pop() {
    if (!interpreted_.empty()) return popOf(interpreted_);
    return !fused_.empty() ? popOf(fused_) : popOf(with_thunk_);
  }
  bool empty() const { return interpreted_.empty() && fused_.empty() && with_thunk_.empty(); }

 private:
  template <class T>
  static Work popOf(std::deque<T>& of) {
    Work work = std::move(of.front());
    of.pop_front();
    return work;
  }
  std::deque<CompileRequest> interpreted_, with_thunk_;
  std::deque<std::shared_ptr<FusedLoop>> fused_;
};

}  // namespace shunt::jit
