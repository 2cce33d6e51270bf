// PreparedStep: what a step computes, ready to be done without its operator, for tensors that lie as the graph says:
// the step's quick call where it has one. Made once for a program, constant then; any thread.
#pragma once

#include "src/compile/steps/lies_as.h"
#include "src/compile/steps/step.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

namespace shunt::compiled {

class PreparedStep {
 public:
  /// Where an operand is, and how it has to lie.
  struct Place {
    Source source;
    const Graph::Spec* spec = nullptr;  // of the graph's value; null: known to lie so
    bool isBuffer() const { return source.kind == Source::Kind::kBuffer; }
  };
  virtual ~PreparedStep() = default;
  /// False where a tensor doesn't lie as the graph has it: nothing was done. `out`: the memory of each of the
  /// operator's results, null where that is undefined.
  virtual bool run(const Frame& frame, std::byte* const* out) const = 0;
  static constexpr size_t kMostResults = 3;
  /// Of a result at an index. Undefined where the graph's is.
  Tensor newResult(size_t i) const {
    const TensorImpl* shape = shapes_[i].unsafeGetTensorImpl();
    return shape != nullptr
               ? Tensor(intrusive_ptr<TensorImpl>::reclaim(detail::newCpuTensorLike(*shape, shape->dtype())))
               : Tensor();
  }

 protected:
  /// One that makes its results itself.
  PreparedStep() = default;
  /// `result`: of the only one, which lies as a new tensor.
  explicit PreparedStep(const Graph::Spec& result);
  /// All results of the node, which lie so.
  explicit PreparedStep(const Graph::Node& node);
  PreparedStep(const PreparedStep&) = delete;
  PreparedStep& operator=(const PreparedStep&) = delete;

  /// Null where the tensor doesn't lie as it has to.
  SHUNT_ALWAYS_INLINE static const std::byte* elementsAt(const Place& place, const Frame& frame) {
    if (place.isBuffer()) return frame.buffer(place.source.index);
    if (place.spec != nullptr) return elementsWhereLike(place, frame);
    return frame.at(place.source).unsafeGetTensorImpl()->data();
  }

 private:
  static const std::byte* elementsWhereLike(const Place& place, const Frame& frame);

  Tensor shapes_[kMostResults];  // without elements
};

/// The entry of a table of operators, each with its `name`, that is the node's; null: there is none.
template <class Known, size_t N>
const Known* entryOf(const Graph::Node& node, const Known (&table)[N]) {
  const std::string name = node.name();
  const auto found = std::ranges::find_if(table, [&](const Known& known) { return name == known.name; });
  return found != std::end(table) ? &*found : nullptr;
}

/// Whether its elements lie in row-major order, whatever strides dimensions of size 1 have.
bool isRowMajor(const Graph::Spec& spec);
/// Whether a new tensor of its sizes has its strides too, those of dimensions of size 1 included: the only results that
/// a prepared step makes.
bool liesAsNew(const Graph::Spec& spec);
/// Whether a call for plain CPU tensors runs the library's own kernel for the backend, or for all of them, below
/// Autograd and Autocast.
bool callsOwnKernel(const Graph::Node& node);

/// Whether a recorded graph has its results' sizes and strides from the library's own kernel: what allocates by these
/// relies on them.
bool hasOwnShapes(const OpState& state);

/// Gives the step its quick call, behind which its operands end as other slots do (Step::dead).
void prepare(Step& step, std::shared_ptr<const PreparedStep> prepared);

}  // namespace shunt::compiled
