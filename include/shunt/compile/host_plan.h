// HostPlan: a plan that runs operators of Shunt, and functions of another program, on that program's memory. It is for
// a host that has recorded its calls elsewhere, such as a Python package for another library.
//
//   HostPlanBuilder b;
//   HostValue x = b.input({.dtype = kFloat, .sizes = {32, 16}}), w = b.input({.dtype = kFloat, .sizes = {16, 8}});
//   HostValue y = b.call("aten::mul.Tensor", {x, 0.5})[0];
//   HostValue p = b.step({.name = "product", .function = product, .inputs = {y, w},
//                         .results = {{.dtype = kFloat, .sizes = {32, 8}}}})[0];
//   b.call("aten::relu_", {p});
//   b.outputInto(p);
//   HostPlan plan = b.compile();
//   for (...) plan.run({x_data, w_data}, {out_data});
//
// A HostPlan is a handle; copies share the plan. Any number of threads may run it at once, each with its own memory for
// intermediate values. A HostPlanBuilder is for one thread at a time. The host owns the memory of inputs. Nothing that
// a plan returns refers to it: an output in an input's memory is described instead (HostOutput).
//
// Note [Host plans]
//   - Operators run as in a compiled function (compile.h), and give the same bits as eager calls. Pointwise neighbours
//     form one loop, small operators are prepared, and intermediate values share one block of memory.
//   - A host step is a function of the host between the operators. It gets addresses, on the calling thread, and no
//     value is copied for it. Loops form before and after it, and across it if they don't need it.
//   - Sizes, strides, dtypes and which inputs share memory are fixed when the plan is built. Each run reads addresses.
//   - No history is recorded: the host has its own.
//   - The first run calls the operators one by one, and finds what can be fused. Later runs have the loops. After a
//     registration for one of the operators, the next run plans again.
#pragma once

#include <shunt/compile/plan_description.h>
#include <shunt/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {

/// Dtype and layout of a tensor on the CPU.
struct HostSpec {
  ScalarType dtype = kFloat;
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};  // in elements, not negative; empty: row-major
  int64_t offset = 0;                 // from the start of the storage to the first element, in elements
  bool operator==(const HostSpec&) const = default;
};

/// A tensor of a plan that is being built. Valid only for the builder that returned it, while that lives.
class SHUNT_API HostValue {
 public:
  /// None: an argument that is left out, or an undefined result.
  HostValue() = default;
  bool defined() const { return id_ >= 0; }

 private:
  friend class HostPlanBuilder;
  HostValue(std::weak_ptr<const void> builder, int64_t id) : builder_(std::move(builder)), id_(id) {}
  std::weak_ptr<const void> builder_;
  int64_t id_ = -1;
};

/// An argument of an operator: a value, a list of values (may contain None if the operator allows it), or a literal: a
/// number, bool, string, None, list of numbers, dtype, device or memory format.
class HostArgument {
 public:
  /// Which of the constructors made it.
  enum class Kind : uint8_t { kLiteral, kValue, kList };
  HostArgument(HostValue v) : kind_(Kind::kValue), values_{std::move(v)} {}
  HostArgument(std::vector<HostValue> list) : kind_(Kind::kList), values_(std::move(list)) {}
  template <class T>
    requires std::convertible_to<T, IValue>
  HostArgument(T literal) : literal_(std::move(literal)) {}

  Kind kind() const { return kind_; }                               // selects literal() or values()
  const IValue& literal() const { return literal_; }                // None unless kLiteral
  const std::vector<HostValue>& values() const { return values_; }  // one of kValue, all of kList

 private:
  Kind kind_ = Kind::kLiteral;
  IValue literal_;
  std::vector<HostValue> values_;
};

/// What a host step is called with: for each tensor the address of its first element (any address, also null, if it has
/// no elements), and its layout. Valid during the call.
struct HostCall {
  std::span<void* const> inputs, results;
  std::span<const HostSpec> input_specs, result_specs;
};

/// A function of the host, as a step of a plan; see HostPlanBuilder::step().
struct HostStep {
  std::string name;  // for messages and describe()
  /// Called on the thread that runs the plan, so by several threads at once if they all run it. It must write each
  /// result, and may write only the inputs in `written`. It may throw anything: the exception leaves run() unchanged,
  /// later steps don't run, and what was written stays written.
  std::function<void(const HostCall&)> function;
  std::vector<HostValue> inputs = {};
  /// Positions in `inputs` of the tensors that it writes in place.
  std::vector<size_t> written = {};
  /// New tensors with these strides, in memory of the plan or of an output. Offsets must be 0.
  std::vector<HostSpec> results = {};
  /// Whether it draws random numbers, prints, or reads or writes memory outside the plan. Such a step is never left
  /// out, and keeps its place among writes, draws and other such steps; no loop is formed across it. A step without
  /// effects that writes nothing is left out if nobody uses its results.
  bool has_effects = false;
};

/// Where an output of a plan is after a run.
struct HostOutput {
  /// The place of an output. It is fixed when the plan is built.
  enum class Kind : uint8_t {
    kTensor,  // a tensor that run() returns
    kMemory,  // the memory that run() was given for it
    kInput,   // input `input` itself, as it is after the run
    kView,    // a view of the storage of input `input`, with the layout `spec`
  };
  Kind kind = Kind::kTensor;  // set by output() or outputInto()
  size_t input = 0;           // of kInput and kView: a position among the inputs
  HostSpec spec;              // of kView with the offset in the input's storage
};

/// Options of HostPlanBuilder::compile().
struct HostPlanOptions {
  std::string name = "host plan";  // for messages
  /// Runs of a loop before its native code is requested; 0: SHUNT_JIT_THRESHOLD.
  int64_t native_after = 0;
  /// Whether run() throws if written memory overlaps the memory of another storage. Checked only when an address
  /// differs from the earlier run. Without the check, the results of such a run differ from those of eager code.
  bool check_memory = true;
};

class SHUNT_API HostPlan {
 public:
  /// A handle without a plan. It may be assigned to; all other calls throw Error.
  HostPlan() = default;
  /// Runs the plan. `inputs`: for each input the address of its first element, a multiple of the dtype's size (at most
  /// alignof(std::max_align_t)); null only if it has no elements. Inputs that share memory need the declared distance.
  /// `outputs`: the same for each output of kind kMemory, in order. Returns a tensor for each output of kind kTensor,
  /// in order; outputs that share memory still do. Throws
  ///   - Error, before anything is written, for a wrong number of addresses, null, a misaligned address, or memory that
  ///     overlaps (HostPlanOptions::check_memory);
  ///   - what an operator or a host step throws; earlier writes are done;
  ///   - Error after the run, if a custom operator has kept a tensor over an input's memory.
  std::vector<Tensor> run(std::span<void* const> inputs, std::span<void* const> outputs = {}) const;
  std::vector<Tensor> run(std::initializer_list<void*> inputs, std::initializer_list<void*> outputs = {}) const;

  /// In the order of the calls of output() and outputInto(). The reference is valid while a copy of the handle lives.
  const std::vector<HostOutput>& outputs() const;
  /// As declared, with strides. The reference is valid while a copy of the handle lives.
  const std::vector<HostSpec>& inputs() const;

  /// Counts of the current plan and its runs.
  struct Counts {
    size_t operators = 0;                  // without host steps, and without operators that nobody needs
    size_t host_steps = 0;                 // in the plan; steps that nobody needs are left out
    size_t regions = 0;                    // loops
    size_t in_regions = 0;                 // operators in loops
    size_t prepared = 0;                   // operators that run without a call
    size_t called = 0;                     // all other operators: calls, and views made without one
    size_t buffers = 0, buffer_bytes = 0;  // per run: results without a tensor, and the size of their block
    size_t runs = 0, host_calls = 0;       // so far; host_calls: calls of host steps by all plans of the builder
    size_t copied_outputs = 0;             // so far: outputs of kind kMemory that were computed elsewhere first
    size_t planned = 0;                    // 1, plus one for each time that registrations made it plan again
  };
  /// The current counts; no regions before the first run. Any thread.
  Counts counts() const;
  /// The steps of the current plan.
  PlanDescription description() const;
  /// The steps, one per line, and totals, as text for people.
  std::string describe() const;

 private:
  friend class HostPlanBuilder;
  class Impl;
  explicit HostPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
};

/// Builds a HostPlan. It owns all values that its methods return.
class SHUNT_API HostPlanBuilder {
 public:
  HostPlanBuilder();
  ~HostPlanBuilder();
  HostPlanBuilder(HostPlanBuilder&&) noexcept;
  HostPlanBuilder& operator=(HostPlanBuilder&&) noexcept;

  // On a wrong argument, each of these throws Error and leaves the builder unchanged.

  /// Declares memory of the host. All inputs are declared before the first operator, step or output.
  HostValue input(HostSpec spec);
  /// Declares memory in the storage of the input `shares`. The offsets of both count from the start of that storage.
  HostValue input(HostSpec spec, const HostValue& shares);
  /// A copy of the tensor, which must be on the CPU. Nothing may write it.
  HostValue constant(const Tensor& t);
  /// Calls an operator by its name, such as "aten::add.Tensor".
  ///   - `arguments` are in the schema's order; `named` has others by name. Missing ones take the schema's defaults.
  ///   - A number in place of a tensor is a 0-dim tensor that affects type promotion only by its kind, as in PyTorch.
  ///   - `expected`: the layouts of the results, if the host knows them. Compared with the computed layouts are dtype
  ///     and sizes; if there are elements, also the offset, and strides of dimensions larger than 1.
  /// Returns a value for each result, lists flattened, with None for an undefined one. An in-place operator returns the
  /// tensor that it writes; both values then stand for one tensor.
  /// Throws for
  ///   - an unknown operator or argument, a value of another builder, an argument that doesn't fit the schema;
  ///   - what the operator itself refuses for such sizes and dtypes;
  ///   - results that depend on elements, are no tensors, or differ from `expected`;
  ///   - an operator that writes a constant, or changes sizes or strides in place.
  std::vector<HostValue> call(std::string_view name, std::vector<HostArgument> arguments,
                              std::vector<std::pair<std::string, HostArgument>> named = {},
                              const std::vector<std::optional<HostSpec>>& expected = {});
  /// Adds a host step. Returns a value for each of its results. Throws if it has no function, a position in `written`
  /// is out of range, or it writes a constant.
  std::vector<HostValue> step(HostStep step);
  /// The layout of a value, with strides.
  HostSpec spec(const HostValue& v) const;

  /// Adds an output: a tensor that run() returns, unless the value is an input or a view of one (HostOutput).
  void output(const HostValue& v);
  /// Adds an output in memory that each run is given. `strides`, in elements, is its layout there; empty: the value's.
  void outputInto(const HostValue& v, std::vector<int64_t> strides = {});

  /// Makes a plan of all that was added so far. May be called again, also after more was added. Throws if the plan has
  /// no output, and nothing in it writes or has effects.
  HostPlan compile(HostPlanOptions options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace shunt
