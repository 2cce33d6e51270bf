// Region: nodes of a plan that run as one loop, with the places of what it reads and makes. Constant once made; any
// thread may run it with a frame of its own.
#pragma once

#include "src/compile/loops/block_loop.h"
#include "src/compile/loops/native_loop.h"
#include "src/compile/loops/row_stages.h"
#include "src/compile/steps/frame.h"

#include <shunt/compile/compile.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

/// A region with its loop. Where its inputs aren't what they were when it was recorded (sizes that depend on elements),
/// its nodes run one by one.
struct Region {
  struct Input {
    Source source;
    uint16_t signature;
    uint64_t keys;
    std::vector<int64_t> sizes, strides;  // no strides: they follow
    bool guarded;  // the caller has compared it, and nothing before the region changes what it shows
    bool shown;    // its elements are at the source, but a tensor of other sizes, or none
    bool isBuffer() const { return source.kind == Source::Kind::kBuffer; }
  };
  struct Written {
    size_t input;
    int64_t times;  // that its version grows
  };
  struct Output {
    uint32_t slot;
    ScalarType dtype;
    int64_t times_written;  // after it was made
    int takes = -1;         // the input that nobody reads afterwards and whose tensor may become this one
    int64_t buffer = -1;    // where it lies instead of in a tensor (Note [Buffers], buffers.h)
    int into = -1;          // the given tensor that it is (ProgramOptions::into)
  };
  std::vector<Input> inputs;
  std::vector<uint16_t> compared;  // inputs that aren't guarded
  std::vector<Output> outputs;
  std::vector<Written> written;
  std::vector<int64_t> sizes, strides;  // of outputs
  BlockLoop loop;
  std::unique_ptr<const NativeLoop> native;  // of the same
  std::unique_ptr<const RowStages> rows;     // instead of both, with a node along rows
  std::vector<uint32_t> last;                // slots that nobody reads afterwards
  size_t first_step = 0, steps = 0;
  int64_t bytes = 0;        // read and written
  bool unchecked = false;   // all inputs are guarded, and none is written
  bool plain = false;       // nothing is written, and no slot dies: once the loop has run, all is done
  int like = -1;            // an input of the outputs' sizes; -1: none is known
  Tensor shape;             // then: of these sizes, without elements
  bool in_buffers = false;  // reads or makes one

  /// False: nothing was done.
  bool run(Frame& frame) const;
  /// For a region that is all of its program (Program::is_one_loop): no frame is needed.
  detail::CompileOutputs runAlone(std::span<const Tensor* const> given, std::span<const Tensor> constants) const;
  /// Without the names of its operators.
  PlanPart description() const;

 private:
  static Tensor newOutput(const TensorImpl& shape_of, ScalarType dtype);
  void runLoop(std::byte* const* operands) const {
    if (rows != nullptr)
      rows->run(operands);
    else
      native->run(operands, loop);
  }
  bool mayTake(const Tensor& t, const Output& out) const;
  /// Of the inputs' tensors.
  bool fits(const TensorImpl* const* given) const;
  bool writtenAreApart(const TensorImpl* const* given) const;
};

}  // namespace shunt::compiled
