// HookList: hooks in the order of their registration, each with a number by which it is removed.
//
// A hook may add and remove hooks of the list that is running it, itself included: the list keeps a hook's function
// alive while it runs, and an added one runs from the next time on. Otherwise as a std::vector: one thread changes it
// while no other uses it.
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
  /// Returns its number: 0 for the list's first, and no number comes twice.
  unsigned add(Function hook) {
    hooks_.push_back({next_, std::make_shared<const Function>(std::move(hook))});
    return next_++;
  }
  /// False when the list never gave that number. Once more for the same hook does nothing.
  bool remove(unsigned id) {
    const auto at = from(id);
    if (at != hooks_.end() && at->id == id) hooks_.erase(at);
    return id < next_;
  }
  bool empty() const { return hooks_.empty(); }
  size_t size() const { return hooks_.size(); }

  /// Calls `visit(hook, id)` for each that is there at the beginning and still is when its turn comes.
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

  std::vector<Entry> hooks_;  // by number
  unsigned next_ = 0;
};

}  // namespace shunt::autograd
