// ChangesOutside: what was written outside of a grad level to the values of its tensors, while their graph waits there
// for a vjp's pullback. Belongs to the vjp; for one thread at a time.
#pragma once

#include "src/transforms/vmap/levels.h"

#include <vector>

namespace shunt::levels {

/// A program has the primals and results of a vjp, whose values the graph may have saved. Writes to them count in their
/// own versions, and the graph looks at those of the level's tensors: follow() lets the one count what the other did.
class ChangesOutside {
 public:
  /// A tensor of the level. Until the function has returned, what it writes to its own tensors counts in the level
  /// already; what it writes to a primal outside of the level isn't seen.
  void add(const intrusive_ptr<WrapperStorage>& tensor) { tensors_.push_back({weak_intrusive_ptr(tensor), {}, 0}); }
  /// From here on changes are those of outside. What nothing holds is forgotten.
  void functionReturned() noexcept;
  void follow();

 private:
  struct Followed {
    weak_intrusive_ptr<WrapperStorage> tensor;
    // What the value was when it was looked at last.
    weak_intrusive_ptr<TensorImpl> shown;
    uint32_t version = 0;
  };
  static uint32_t look(Followed& followed, const Tensor& value);

  std::vector<Followed> tensors_;
};

}  // namespace shunt::levels
