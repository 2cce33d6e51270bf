// How a graph is run, as data: what CompiledFunction::plan() and HostPlan::describe() print. A value: any thread.
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
  /// How far the native code of a loop is.
  enum class State : uint8_t { kInterpreted, kCompiling, kNative };
  State state = State::kInterpreted;
  std::string
      note;  // kNative: the name that perf, gdb and dumps have for it; kInterpreted: why, where there is a reason
  /// "interpreted", "native (fused.3)"
  SHUNT_API std::string text() const;
};

/// A call, or a loop that computes several operators.
struct PlanPart {
  /// What a part is.
  enum class Kind : uint8_t {
    kCall,
    kRegion,  // pointwise operators by blocks of elements
    kRows,    // the same by blocks of rows, with an operator along rows
  };
  /// How a call is made.
  enum class Call : uint8_t {
    kWithAutograd,           // through the dispatcher, and a history is recorded
    kDispatched,             // through the dispatcher
    kDirect,                 // its kernel, without dispatch
    kDirectWithoutCopy,      // the same, and the argument's memory becomes the result
    kLate,                   // a view that is made only where something asks for it
    kArgument,               // a view that its argument becomes
    kPrepared,               // the kernel's loop on memory that is known beforehand
    kPreparedWithView,       // and the view of the result, which follows
    kPreparedWithoutViews,   // and reads its operands as they lay before views
    kPreparedWithoutTensor,  // and leaves the result in the run's memory
    kHost,                   // a step of the program's
    kHostWithoutTensors,     // whose operands lie in the run's memory
  };
  /// Data of the part; what it has no use for is 0 or empty.
  Kind kind = Kind::kCall;
  Call call = Call::kDispatched;
  std::vector<std::string> operators;     // one of a call: "aten::mul.Tensor"; of a host step, its name
  std::vector<int64_t> sizes;             // of a loop's results
  size_t inputs = 0, outputs = 0;         // of a loop
  size_t in_inputs_memory = 0;            // outputs that take the place of an input that nobody reads afterwards
  size_t without_tensors = 0;             // outputs that are left in the run's memory
  size_t buffers = 0;                     // that a loop has for results that stay in it
  int64_t block = 0;                      // elements, of kRows rows, at a time
  size_t parameters = 0;                  // kRows: operators that became the row operator's weight or bias
  std::optional<PlanCode> code;           // kRegion
  std::optional<PlanCode> before, after;  // kRows: the pointwise operators on either side
  int64_t bytes = 0, flops = 0;  // read and written; two for each multiplication of a product with its addition
  /// A line, with more below it where a loop has parts.
  SHUNT_API std::string text() const;
};

/// A graph's parts in the order in which they run.
struct PlanDescription {
  std::string of;                           // "" for a function, else which backward pass: "backward of others"
  std::vector<std::string> trailing_views;  // that are made of a function's result for this backward pass
  std::vector<PlanPart> parts;
  bool is_one_loop = false;               // the only part, whose results are the graph's
  size_t buffers = 0, buffer_bytes = 0;   // results without tensors
  std::optional<size_t> operators_alone;  // then there are no parts: so many operators run one by one

  /// How many parts of that kind there are.
  SHUNT_API size_t count(PlanPart::Kind kind) const;
  /// How often the operator is called, in whatever way or in the given one.
  SHUNT_API size_t calls(std::string_view op) const;
  SHUNT_API size_t calls(std::string_view op, PlanPart::Call call) const;
  SHUNT_API size_t calls(PlanPart::Call call) const;
  SHUNT_API std::string text() const;
};

/// One after the other.
SHUNT_API std::string textOf(const std::vector<PlanDescription>& plans);

}  // namespace shunt
