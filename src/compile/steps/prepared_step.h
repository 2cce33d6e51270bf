// PreparedStep: what a step computes, ready to be done without its operator, for tensors that lie as the graph says:
// the step's quick call where it has one. Made once for a program, constant then; any thread.
#pragma once

#include "src/compile/steps/lies_as.h"
#include "src/compile/steps/step.h"

#include <memory>

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
  /// False where a tensor doesn't lie as the graph has it: nothing was done. `out`: the result's memory. `second`: the
  /// same for the operator's second result, which has the first one's dtype and sizes, where it has one.
  virtual bool run(const Frame& frame, std::byte* out, std::byte* second) const = 0;
  Tensor newResult() const {
    return Tensor(
        intrusive_ptr<TensorImpl>::reclaim(detail::newCpuTensorLike(*shape_.unsafeGetTensorImpl(), result_.dtype)));
  }

 protected:
  /// `result`: of the graph's value, which lies as a new tensor.
  explicit PreparedStep(const Graph::Spec& result);
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

  const Graph::Spec& result_;
  const Tensor shape_;  // without elements
};

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
