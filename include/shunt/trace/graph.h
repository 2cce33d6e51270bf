// Graph: the operators that a function called, as data: inputs, captured tensors, nodes in the order in which they ran,
// outputs. trace() (trace.h) records one; passes change it; run() calls its operators through the dispatcher.
//
//   Graph g = trace([&](const Tensor& x) { return (x * 2).relu(); }, shunt::randn({2, 3}));
//   std::cout << g.print();
//   std::vector<Tensor> out = g.run({shunt::randn({2, 3})});
//
// Note [Graphs]
// A value is a tensor that an input, a constant or a node gives. Constants are captured tensors, held by identity: what
// they hold, and their grad, is read and written when the graph runs. An in-place operator is a node like any other:
// the value that it returns is the tensor it was given, and nodes keep their order, so aliases behave as in the traced
// program. What eager code does to a tensor's grad stands as a node too, of the library "trace": accumulate_grad_ for
// backward(), grad for a read, set_grad_ for an assignment, requires_grad_.
// A node keeps the thread's settings that it was recorded with (grad mode, inference mode, autocast), and run()
// restores them around each node: a graph gives the same bits whatever its caller has on. Casts are not nodes:
// autocast casts inside of the node that it belongs to. Dispatch modes and wrappers are the caller's, and see each
// node.
//
// A Graph owns its nodes and values; pointers to them are good until they are erased or the graph dies. One graph is
// for one thread at a time, but several threads may run() it where it writes to none of its constants.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shunt {

class SHUNT_API Graph {
 public:
  struct Node;

  /// What is known of a tensor without its elements. Sizes and strides in elements.
  struct Spec {
    ScalarType dtype = kFloat;
    Device device = kCPU;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool requires_grad = false;
    bool is_leaf = true;
    bool wrapped_number = false;  // see TensorImpl::is_wrapped_number
    bool operator==(const Spec&) const = default;
  };

  /// A tensor that an input, a constant or a node gives.
  struct Value {
    /// What gives it.
    enum class Kind : uint8_t { kInput, kConstant, kResult };
    Kind kind;
    int64_t id;            // printed as %id; never used again in the graph
    Spec spec;             // when it was recorded
    int64_t storage;       // of inputs and constants: the id of the first one that shares its storage
    Node* node = nullptr;  // of a result
    Tensor constant;       // of a constant
  };

  /// An argument of a node: a value, a list of values (null: None), or what the operator was called with otherwise.
  struct Argument {
    /// What an argument is: a number or the like, a value, or a list of values.
    enum class Kind : uint8_t { kLiteral, kValue, kList };
    Kind kind = Kind::kLiteral;
    IValue literal;
    std::vector<Value*> values;

    Argument() = default;
    Argument(Value* v) : kind(Kind::kValue), values{v} {}
    Argument(IValue v) : literal(std::move(v)) {}
    template <class T>
      requires(std::convertible_to<T, IValue> && !std::convertible_to<T, Value*>)
    Argument(const T& v) : literal(v) {}
    explicit Argument(std::vector<Value*> list) : kind(Kind::kList), values(std::move(list)) {}
    Value* value() const { return kind == Kind::kValue ? values[0] : nullptr; }
  };

  /// A return of a node: one value, a list of values, or none (an undefined tensor, a None).
  struct Output {
    bool is_list = false;
    std::vector<Value*> values;
  };

  /// The settings of the thread that called an operator, as far as results depend on them.
  struct Modes {
    bool grad = true, inference = false;
    bool cast_cache = true;
    bool in_autocast = false;  // inside of an AutocastGuard, which may have it off
    std::vector<std::pair<DeviceType, ScalarType>> autocast;
    uint64_t excluded = 0;  // which of the Autograd and ADInplaceOrView keys, raw
    bool operator==(const Modes&) const = default;
    /// The calling thread's.
    static Modes now();
  };

  /// A call of an operator.
  struct Node {
    explicit Node(const OperatorHandle& called) : op(called) {}
    OperatorHandle op;
    std::vector<Argument> arguments;  // complete, in the schema's order
    std::vector<Output> outputs;      // one a return
    Modes modes;
    /// "aten::add.Tensor"
    std::string name() const { return op.operator_name().str(); }
    bool is(std::string_view full_name) const { return name() == full_name; }
    /// The value of the first return.
    Value* result() const { return outputs.at(0).values.at(0); }
  };

  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  /// With nodes and values of its own, and the same constants.
  Graph clone() const;

  /// Values in the order in which the function had them.
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& constants() const { return constants_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  /// In the order in which they run. A copy, so that a pass may change the graph meanwhile.
  std::vector<Node*> nodes() const;
  size_t nodeCount() const { return nodes_.size(); }
  /// Null where there is none.
  Value* value(int64_t id) const;

  /// Text: one line an input, constant or node, by id; the same for the same graph.
  std::string print() const;
  /// Throws, naming the node, unless each value is defined before its use, the arguments and returns of each node fit
  /// its operator's schema, and fake tensors run through the graph have the recorded dtypes, devices and sizes.
  void verify() const;
  /// Calls the nodes' operators. Inputs need the recorded dtypes, devices and sizes, and the recorded strides and
  /// offset where an operator is for these (_reshape_alias, what functionalized() makes of views); throws naming the
  /// one that hasn't. Returns the outputs. What an operator throws leaves from here; what was written until then stays
  /// written.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  /// Nodes with `value` among their arguments, in order, each once.
  std::vector<Node*> users(const Value* value) const;
  bool isOutput(const Value* value) const;
  /// `by` in the place of `value` wherever it is used, but in the node that gives `by`.
  void replace(const Value* value, Value* by);
  /// Throws where one of its results is used.
  void erase(const Node* node);
  /// The same of several, which may use each other's results.
  void erase(const std::unordered_set<const Node*>& nodes);
  /// A node before another one (null: at the end), with the modes of that one. Missing arguments get the schema's
  /// defaults. Its results' specs are found by a call with fake tensors, which throws what the operator throws.
  Node* insert(const Node* before, std::string_view name, std::vector<Argument> arguments);
  void setOutputs(std::vector<Value*> outputs) { outputs_ = std::move(outputs); }
  Value* addInput(Spec spec);
  Value* addConstant(const Tensor& t);

  /// Takes out nodes whose results nobody uses, but those that write, draw random numbers or may (operators that aren't
  /// "aten"'s). Returns how many; constants that nobody uses any more go too.
  int64_t eliminate_dead_code();
  /// One node for those that compute the same, where neither writes nor draws, and nothing was written in between.
  /// Returns how many are gone.
  int64_t common_subexpressions();
  /// The graph with composite operators replaced by those that they call, and these in turn. `keep`: not that one.
  Graph decompose(const std::function<bool(const OperatorHandle&)>& keep = nullptr) const;
  /// The graph without writes but to grads: in-place and out= operators as functional ones, and at the end a copy_ for
  /// each input and constant that the graph has written. See functionalize (transforms/functionalize.h).
  Graph functionalized() const;

  /// One file: the graph as JSON, constants' storages, a checksum. Written beside and renamed: readers see the old file
  /// or the new one. Throws for constants or arguments that no file can hold (tensors of other devices than the CPU,
  /// generators), and where writing fails.
  void save(const std::string& path) const;
  /// Reads files of this version of Shunt and of older ones, and arguments that an operator got since then take their
  /// defaults. Throws, saying why, for a file that is no graph, of a newer version, cut off or damaged; and for a graph
  /// whose operators aren't registered, or no longer take its arguments. Constants are new tensors.
  static Graph load(const std::string& path);
  /// The JSON part alone, indented.
  std::string toJson() const;

  // For those who record, load and run.
  int64_t idBound() const { return next_id_; }
  Node* append(Node node);
  Value* addResult(Node* node, Spec spec);
  Value* addValue(Value value);

 private:
  size_t positionOf(const Node* node) const;
  void dropUnusedConstants();

  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<std::unique_ptr<Value>> values_;  // by id
  std::vector<Value*> inputs_, constants_, outputs_;
  int64_t next_id_ = 0;
};

/// Of `t` now.
SHUNT_API Graph::Spec specOf(const Tensor& t);
/// Whether an operator draws random numbers: it takes a generator, as do its other overloads, or is named in a list.
SHUNT_API bool drawsRandomNumbers(const OperatorHandle& op);

}  // namespace shunt
