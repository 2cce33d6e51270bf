// PlanDescription: how a graph is run, as data. Tests and tools read it; CompiledFunction::plan() and
// HostPlan::describe() print it. It is a value without references; any thread may use its copy.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// The code of a loop.
struct PlanCode {
  /// kCompiling: native code was requested, and the loop is interpreted until it is ready.
  enum class State : uint8_t { kInterpreted, kCompiling, kNative };
  State state = State::kInterpreted;
  std::string note;  // kNative: its name in perf, gdb and dumps; kInterpreted: the reason, if there is one
  /// Such as "interpreted" or "native (fused.3)".
  SHUNT_API std::string text() const;
};

/// A call, or a loop that computes several operators.
struct PlanPart {
  /// kCall: one operator, or a host step.
  enum class Kind : uint8_t {
    kCall,
    kRegion,  // a loop of pointwise operators over blocks of elements
    kRows,    // a loop over blocks of rows, with an operator along rows (softmax, layer_norm)
  };
  /// How a call is made.
  enum class Call : uint8_t {
    kWithAutograd,           // through the dispatcher, recording a history
    kDispatched,             // through the dispatcher
    kDirect,                 // the kernel, without dispatch
    kDirectWithoutCopy,      // as kDirect; the argument's memory becomes the result
    kLate,                   // a view that is made only if something needs it
    kArgument,               // a view for which the tensor of its argument is reused
    kPrepared,               // the kernel's loop, on memory that the plan has computed
    kPreparedWithView,       // as kPrepared; also makes the view of the result that follows
    kPreparedWithoutViews,   // as kPrepared; reads the memory behind views, which are not made
    kPreparedWithoutTensor,  // as kPrepared; leaves the result in the run's memory
    kHost,                   // a host step
    kHostWithoutTensors,     // a host step with operands in the run's memory
  };
  /// A member that doesn't apply to the part's kind is 0 or empty.
  Kind kind = Kind::kCall;
  Call call = Call::kDispatched;
  std::vector<std::string> operators;     // "aten::mul.Tensor"; of a host step its name; one if kCall
  std::vector<int64_t> sizes;             // of a loop's results
  size_t inputs = 0, outputs = 0;         // of a loop
  size_t in_inputs_memory = 0;            // outputs in the memory of an input that nobody reads afterwards
  size_t without_tensors = 0;             // outputs that stay in the run's memory
  size_t buffers = 0;                     // of a loop, for results that are used only in it
  int64_t block = 0;                      // elements at a time; kRows: rows at a time
  size_t parameters = 0;                  // kRows: operators that are computed as the weight or bias of another
  std::optional<PlanCode> code;           // kRegion
  std::optional<PlanCode> before, after;  // kRows: the pointwise operators on either side
  int64_t bytes = 0, flops = 0;           // bytes read and written; two flops per multiply-add of a product
  /// One line; of a loop, one more per operator.
  SHUNT_API std::string text() const;
};

/// A graph's parts in the order in which they run.
struct PlanDescription {
  std::string of;                           // "" for a function; else the backward pass, as "backward of others"
  std::vector<std::string> trailing_views;  // of a backward pass: views that end the function, made after its graph
  std::vector<PlanPart> parts;
  bool is_one_loop = false;               // one loop is all, and its results are the graph's
  size_t buffers = 0, buffer_bytes = 0;   // results without a tensor, and the size of their block
  std::optional<size_t> operators_alone;  // set if there is no plan: this many operators run one by one

  /// The number of parts of this kind.
  SHUNT_API size_t count(PlanPart::Kind kind) const;
  /// How many calls there are: of the operator `op` ("aten::mm"), of kind `call`, or both. Loops are not counted.
  SHUNT_API size_t calls(std::string_view op) const;
  SHUNT_API size_t calls(std::string_view op, PlanPart::Call call) const;
  SHUNT_API size_t calls(PlanPart::Call call) const;
  SHUNT_API std::string text() const;
};

/// The texts of all plans, one after another.
SHUNT_API std::string textOf(const std::vector<PlanDescription>& plans);

}  // namespace shunt
