// Many pairs of dictionary operators, dtypes and layouts, each of which can have a thunk at the same time as all
// others.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <vector>

namespace bench {

class ManyPairs {
 public:
  /// At most as many as asked for, and at most as many of one operator as it has places for.
  explicit ManyPairs(size_t count);
  size_t size() const { return calls_.size(); }
  void call(size_t i) const { calls_[i](); }
  void callAll() const {
    for (const auto& call : calls_) call();
  }

 private:
  shunt::NoGradGuard no_grad_;
  std::vector<std::function<void()>> calls_;
};

/// Pairs whose thunk is in force, by jit::stats().
size_t compiledPairs();

}  // namespace bench
