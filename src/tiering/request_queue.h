// RequestQueue: what waits for the compiler's thread, and what of it comes next: what is stored on the disk, as loading
// costs little; then what would save most, as soon as the budget allows it. Not synchronised: its owner's lock guards
// it.
#pragma once

#include "src/tiering/budget.h"
#include "src/tiering/fused_loops.h"
#include "src/tiering/savings.h"

#include <shunt/jit/provider.h>

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <variant>

namespace shunt::jit {

/// Reads how often the calls were made that a compile would make faster. Called under the queue's lock.
using CallCount = std::function<uint64_t()>;

class RequestQueue {
 public:
  static constexpr size_t kMost = 4096;  // of each kind
  using Work = std::variant<CompileRequest, std::shared_ptr<FusedLoop>>;

  /// Something that waits. A list's node, since a request is large.
  struct Entry {
    Work work;
    size_t kind;   // counts for kMost
    double saved;  // ns a call
    CallCount calls;
    bool looked = false;  // the disk cache doesn't have it
    uint64_t seen = 0;    // calls, when something was taken last
    double recent = 0;    // calls, those of long ago counting less
  };
  struct Job {
    std::list<Entry> entry;  // one
    Step step;               // kLook: nothing is to be compiled
    Work& work() { return entry.front().work; }
  };

  /// False: it is full.
  bool push(const CompileRequest& request, Waiting waiting, CallCount calls);
  bool push(std::shared_ptr<FusedLoop>&& loop);
  /// What was looked for in vain.
  void pushBack(Job job);

  struct Allowance {
    const Budget& budget;
    int64_t used;               // CPU time of the process
    bool is_lifted = false;     // whatever the budget is
    bool may_be_stored = true;  // the disk cache may have something
  };
  /// Nothing: `due` is the CPU time at which there will be something, if nothing is pushed before.
  std::optional<Job> take(const Allowance& allowance, int64_t& due);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

 private:
  using Place = std::list<Entry>::iterator;
  static constexpr size_t kKinds = 3;
  bool hasRoom(size_t kind) const { return counts_[kind] < kMost; }
  bool push(Entry entry);
  static double score(const Entry& entry) { return entry.saved * recentCalls(entry); }
  static double recentCalls(const Entry& entry);
  Place best(bool looked_ones);
  Job remove(Place place, Step step);

  std::list<Entry> entries_;
  std::array<size_t, kKinds> counts_ = {};
};

}  // namespace shunt::jit
