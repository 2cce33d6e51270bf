// PointwiseNode: what one call of a node was seen to compute: a loop over elements, and how its inputs lie under the
// result. Made from a recorded call; constant then.
#pragma once

#include <shunt/elementwise/cast_loop.h>
#include <shunt/elementwise/recorded_loop.h>
#include <shunt/trace/graph.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace shunt::compiled {

/// How an input lies under a result whose elements lie in row-major order.
enum class Fit : uint8_t {
  kFull,    // as the result
  kOne,     // one element for all
  kRow,     // the same row for all rows: the result's last dimensions
  kColumn,  // one element for each row: all but the last dimensions
};

struct PointwiseNode {
  struct Input {
    const Graph::Value* value = nullptr;  // of the tensor (Aliases::tensorOf); null: a number
    Fit fit = Fit::kOne;
    uint16_t signature = 0;
    uint64_t keys = 0;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;  // empty: as contiguous tensors have
    elementwise::ScalarSlot number{};
    ScalarType dtype = ScalarType::Undefined;  // of the tensor, or the number as it is stored
    // Of a tensor of another dtype than the loop takes, which is as long as the result: what casts it to that one
    // first.
    elementwise::CastLoop cast;
    ScalarType loop_dtype = ScalarType::Undefined;
    bool isCast() const { return cast.run != nullptr; }
  };
  const Graph::Node* node = nullptr;
  const Graph::Value* result = nullptr;  // of the tensor
  std::optional<Input> written;          // of an in-place operator: the same tensor, as it is found
  elementwise::LoopFn run = nullptr;
  elementwise::CastFn cast = nullptr;            // of a cast, instead of `run`
  elementwise::GenericLoopFn generic = nullptr;  // what native code is made of; null: there is nothing
  ScalarType common = ScalarType::Undefined;     // of the generic loop
  std::vector<Input> inputs;
  int num_scalars = 0;
  elementwise::ScalarSlot scalars[elementwise::kMaxScalars] = {};
  ScalarType dtype = ScalarType::Undefined;  // of the result
  std::vector<int64_t> sizes;
  int64_t columns = 0;  // of a row, where some input is a row or a column; else 0

  /// Of a block loop, at most, but for the inputs themselves.
  size_t places() const { return 1 + static_cast<size_t>(std::ranges::count_if(inputs, &Input::isCast)); }
};

/// A tensor argument of the recorded call. Holds it, so that no other one has its address.
struct RecordedArgument {
  const Graph::Value* value;
  Tensor tensor;
};

/// Nothing where the call did anything else than run one loop that can be run again without it.
/// `written`: of an in-place operator, the value of the tensor that it wrote; else null.
std::optional<PointwiseNode> describe(const Graph::Node& node, const elementwise::RecordedLoop& loop,
                                      std::span<const RecordedArgument> arguments, const Tensor& result,
                                      const Graph::Value* written);

/// Whether the loop is all that the call did, and takes any elements.
inline bool ranOneLoop(const elementwise::RecordedLoop& loop) {
  return loop.loops == 1 && !loop.inner_loops && !loop.may_refuse && loop.run != nullptr;
}

bool isRowMajor(const Tensor& t);
/// Whether a region may make a tensor like this result.
bool mayBeOfRegion(const Tensor& result);

/// An input as a guard of the region compares it. `value`: of the tensor.
PointwiseNode::Input inputOf(const Graph::Value* value, Fit fit, const Tensor& t);

}  // namespace shunt::compiled
