// HookList: hooks in the order of registration. Each has an id, by which it is removed.
//
// A hook may add and remove hooks of the list that runs it, itself included. The list keeps a hook's function alive
// while it runs. A hook added during a run is first called in the next run. Not synchronised: one thread may change the
// list while no other thread uses it.
#pragma once

#include <shunt/core/macros.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace shunt::autograd {

template <class Function>
class HookList {
 public:
  /// Returns the hook's id. Ids count from 0, and no id is used twice.
  unsigned add(Function hook) {
    hooks_.push_back({next_, std::make_shared<const Function>(std::move(hook))});
    return next_++;
  }
  /// Returns false when the list never gave that id. Removing a hook twice has no effect.
  bool remove(unsigned id) {
    const auto at = from(id);
    if (at != hooks_.end() && at->id == id) hooks_.erase(at);
    return id < next_;
  }
  bool empty() const { return hooks_.empty(); }
  size_t size() const { return hooks_.size(); }

  /// Calls `visit(hook, id)` for each hook that is in the list at the start, unless it is removed before its turn.
  template <class Visit>
  void forEach(const Visit& visit) const {
    const unsigned end = next_;
    for (unsigned next = 0;;) {
      const auto at = from(next);
      if (at == hooks_.end() || at->id >= end) return;
      const Entry held = *at;
      next = held.id + 1;
      visit(*held.function, held.id);
    }
  }

 private:
  struct Entry {
    unsigned id;
    std::shared_ptr<const Function> function;
  };
  auto from(unsigned id) const { return std::ranges::lower_bound(hooks_, id, {}, &Entry::id); }

  std::vector<Entry> hooks_;  // sorted by id
  unsigned next_ = 0;
};

}  // namespace shunt::autograd
