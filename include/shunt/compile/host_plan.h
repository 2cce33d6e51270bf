// HostPlan: a plan that another program runs on its own memory, made from a list of operators, and of functions of that
// program's: for a host that has recorded calls elsewhere, as a Python package records those of another library.
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
// Note [Host plans]
// Operators run as in a compiled function (compile.h): pointwise neighbours are one loop, small ones are prepared, what
// nobody outside sees lies in one block of memory; results have the operators' bits. A host step is a function of the
// host's in the middle of that. It gets addresses, on the calling thread, and is a step like others: no value is copied
// for it, and loops are fused before, behind and, where they don't need it, past it.
// Sizes, strides, dtypes and which inputs share memory are fixed when the plan is built; addresses are read at each
// run. Nothing records history: the host has its own.
// The first run calls the operators one by one, which shows what can be fused; later runs have the loops. A
// registration for one of the operators is noticed by the next run, which plans anew.
//
// A HostPlan is a handle; copies are the same plan. Any number of threads may run one at once, each with memory of its
// own for what lies between. A HostPlanBuilder is for one thread at a time. Nothing that a plan returns refers to an
// input's memory; an output that would is described instead (HostOutput).
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

/// A tensor on the CPU without its elements.
struct HostSpec {
  ScalarType dtype = kFloat;
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};  // in elements, not negative; empty: row-major
  int64_t offset = 0;                 // of the first element in its storage, in elements
  bool operator==(const HostSpec&) const = default;
};

/// A tensor of a plan that is being built. Good for the builder that gave it, and while that lives.
class SHUNT_API HostValue {
 public:
  /// None: an argument that is left out; a result that the operator doesn't give.
  HostValue() = default;
  bool defined() const { return id_ >= 0; }

 private:
  friend class HostPlanBuilder;
  HostValue(std::weak_ptr<const void> builder, int64_t id) : builder_(std::move(builder)), id_(id) {}
  std::weak_ptr<const void> builder_;
  int64_t id_ = -1;
};

/// An argument of an operator: a value, a list of values (with None, where the operator takes such), or a literal:
/// numbers, bools, strings, None, lists of numbers, dtypes, devices, memory formats.
class HostArgument {
 public:
  enum class Kind : uint8_t { kLiteral, kValue, kList };
  HostArgument(HostValue v) : kind_(Kind::kValue), values_{std::move(v)} {}
  HostArgument(std::vector<HostValue> list) : kind_(Kind::kList), values_(std::move(list)) {}
  template <class T>
    requires std::convertible_to<T, IValue>
  HostArgument(T literal) : literal_(std::move(literal)) {}

  Kind kind() const { return kind_; }
  const IValue& literal() const { return literal_; }
  const std::vector<HostValue>& values() const { return values_; }

 private:
  Kind kind_ = Kind::kLiteral;
  IValue literal_;
  std::vector<HostValue> values_;
};

/// What a host step is called with: the address of the first element of each tensor (null or any other where there are
/// no elements), and what is there. Good during the call.
struct HostCall {
  std::span<void* const> inputs, results;
  std::span<const HostSpec> input_specs, result_specs;
};

struct HostStep {
  std::string name;  // for messages and describe()
  /// Called on the thread that runs the plan, by several threads at once where they run it. It writes each result, and
  /// of inputs those of `written` only. It may throw anything: the exception leaves run() as it is, later steps don't
  /// run, and what was written stays written.
  std::function<void(const HostCall&)> function;
  std::vector<HostValue> inputs = {};
  /// Positions in `inputs` of what it writes in place.
  std::vector<size_t> written = {};
  /// New tensors, in memory of the plan's or of an output's. With the strides asked for; offsets are 0.
  std::vector<HostSpec> results = {};
  /// That it draws random numbers, reads or writes memory that isn't in the plan, prints. Such a step is never left
  /// out, and keeps its place among all that writes, draws or is such a step; no loop passes it by. One without
  /// effects that writes nothing is left out where nobody uses its results.
  bool has_effects = false;
};

/// Where an output of a plan is found after a run.
struct HostOutput {
  enum class Kind : uint8_t {
    kTensor,  // run() returns a tensor of Shunt's
    kMemory,  // in the memory that run() was given for it
    kInput,   // it is input `input` itself, as that is after the run
    kView,    // elements of the memory that input `input` lies in: `spec`, with the offset in that storage
  };
  Kind kind = Kind::kTensor;
  size_t input = 0;  // of kInput and kView
  HostSpec spec;
};

struct HostPlanOptions {
  std::string name = "host plan";  // for messages
  /// Runs of a loop before native code of it is asked for; 0: as many as calls of a pair before it is compiled.
  int64_t native_after = 0;
  /// Whether run() throws where memory that is written overlaps memory that should be apart. Compared only where an
  /// address is another one than in an earlier run. Without it, such a run gives other results than eager code.
  bool check_memory = true;
};

class SHUNT_API HostPlan {
 public:
  /// Of no plan: for assigning to. All else throws Error.
  HostPlan() = default;
  /// Runs the plan. `inputs`: for each input the address of its first element, which has to be a multiple of the
  /// dtype's size or, where that is less, alignment; null only where it has no elements. Inputs that share memory need
  /// the distance that they were declared with. `outputs`: the same for each output of kind kMemory, in their order.
  /// Returns a tensor for each output of kind kTensor, in their order; two that share memory do so.
  /// Throws Error, before anything is written, for another number of addresses, for null, for an address that doesn't
  /// fit the dtype, and for memory that overlaps; and what an operator or a host step throws, with the writes done that
  /// come before it. Throws Error after the run where an operator of the program's has kept an input's tensor.
  std::vector<Tensor> run(std::span<void* const> inputs, std::span<void* const> outputs = {}) const;
  std::vector<Tensor> run(std::initializer_list<void*> inputs, std::initializer_list<void*> outputs = {}) const;

  const std::vector<HostOutput>& outputs() const;
  const std::vector<HostSpec>& inputs() const;

  struct Counts {
    size_t operators = 0;  // of the plan, host steps not counted; those that nobody needs are left out
    size_t host_steps = 0;
    size_t regions = 0;                    // loops
    size_t in_regions = 0;                 // operators in them
    size_t prepared = 0;                   // done without their operators
    size_t called = 0;                     // all others: called, or views without a call
    size_t buffers = 0, buffer_bytes = 0;  // results that are no tensors, and the block that they lie in, in a run
    size_t runs = 0, host_calls = 0;       // so far; calls of host steps, by all plans of the builder
    size_t copied_outputs = 0;             // so far; outputs of kind kMemory that weren't computed in their place
    size_t planned = 0;                    // how often it was planned: 1, and once more after registrations
  };
  /// Of the plan in force; no regions before the first run. Any thread.
  Counts counts() const;
  /// The steps of the plan in force.
  PlanDescription description() const;
  /// For people: the same, a line each, and the totals.
  std::string describe() const;

 private:
  friend class HostPlanBuilder;
  class Impl;
  explicit HostPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
};

class SHUNT_API HostPlanBuilder {
 public:
  HostPlanBuilder();
  ~HostPlanBuilder();
  HostPlanBuilder(HostPlanBuilder&&) noexcept;
  HostPlanBuilder& operator=(HostPlanBuilder&&) noexcept;

  // Each of these throws Error, naming what is wrong, and leaves the builder as it was.

  /// Memory of the host's. All inputs are declared before the first operator or step.
  HostValue input(HostSpec spec);
  /// The same, in the storage of another input: offsets of both count from its begin.
  HostValue input(HostSpec spec, const HostValue& shares);
  /// A copy of the tensor's elements, which has to be one of the CPU. Nothing may write it.
  HostValue constant(const Tensor& t);
  /// An operator by its name, "aten::add.Tensor". `arguments` are in the schema's order, `named` others by name; those
  /// missing take the schema's defaults. Returns a value for each result, those of lists one after the other, with None
  /// for an undefined one. A number in the place of a tensor is what it is in PyTorch: a tensor without dimensions
  /// whose dtype doesn't decide the result's. An in-place operator returns what it writes; both values are the same
  /// tensor afterwards. `expected`: what the host has seen of the results, in the same order; compared with what the
  /// operator says (dtype, sizes, and of tensors with elements strides of dimensions larger than 1 and offset). Throws
  /// for an unknown operator or argument; a value of another builder; an argument that doesn't fit the schema; what the
  /// operator throws for such sizes and dtypes; results that depend on elements, are no tensors, or aren't the expected
  /// ones; and operators that write a constant or change sizes or strides in place.
  std::vector<HostValue> call(std::string_view name, std::vector<HostArgument> arguments,
                              std::vector<std::pair<std::string, HostArgument>> named = {},
                              const std::vector<std::optional<HostSpec>>& expected = {});
  /// Returns a value for each result.
  std::vector<HostValue> step(HostStep step);
  /// What is known of a value.
  HostSpec spec(const HostValue& v) const;

  /// One more output: a tensor of Shunt's, unless it is an input or a view of one (HostOutput).
  void output(const HostValue& v);
  /// One more output, written into memory that each run is given. `strides`: how it lies there; empty: as the value.
  void outputInto(const HostValue& v, std::vector<int64_t> strides = {});

  /// May be called again, after more was added, too. Throws where nothing would be seen of the plan: no output, and
  /// nothing that writes an input or has effects.
  HostPlan compile(HostPlanOptions options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace shunt
