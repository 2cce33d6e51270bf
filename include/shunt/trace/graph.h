// Graph: the operators that a function called, as data. It has inputs, captured tensors, nodes in the order in which
// they ran, and outputs. trace() (trace.h) records one. Passes change it. run() calls its operators by the dispatcher.
//
//   Graph g = trace([&](const Tensor& x) { return (x * 2).relu(); }, shunt::randn({2, 3}));
//   std::cout << g.print();
//   std::vector<Tensor> out = g.run({shunt::randn({2, 3})});
//
// A Graph owns its nodes and values. Pointers to them are valid until they are erased or the graph is destroyed. A
// graph is for one thread at a time, but several threads may run() it at once if it writes to none of its constants.
//
// Note [Graphs]
// A value is a tensor that an input, a constant or a node gives.
//   - Constants are captured tensors, held by identity. A run reads and writes their elements and their grad.
//   - An in-place operator is a node like any other. The value that it returns is the tensor that it was given. Nodes
//     keep their order, so aliases behave as in the traced program.
//   - What eager code does to a tensor's grad is a node of the library "trace": accumulate_grad_ for backward(), grad
//     for a read, set_grad_ for an assignment, and requires_grad_.
//   - A node keeps the settings of the thread under which it was recorded: grad mode, inference mode, autocast. run()
//     restores them around each node, so the settings of the caller don't change the bits.
//   - Casts are not nodes: autocast casts inside the node to which the cast belongs.
//   - Dispatch modes and wrappers of the caller see each node.
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

  /// A tensor without its elements. Strides and offset are in elements.
  struct Spec {
    ScalarType dtype = kFloat;
    Device device = kCPU;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool requires_grad = false;
    bool is_leaf = true;
    bool wrapped_number = false;  // TensorImpl::is_wrapped_number
    bool operator==(const Spec&) const = default;
  };

  /// A tensor that an input, a constant or a node gives.
  struct Value {
    /// What gives the value; kResult: a node.
    enum class Kind : uint8_t { kInput, kConstant, kResult };
    Kind kind;
    int64_t id;            // printed as %id; unique in the graph, also after the value is erased
    Spec spec;             // when it was recorded
    int64_t storage;       // of inputs and constants: the id of the first one with this storage
    Node* node = nullptr;  // of a result
    Tensor constant;       // of a constant
  };

  /// An argument of a node: a value, a list of values (null: None), or anything else as a literal.
  struct Argument {
    /// Which members an argument uses: kLiteral `literal`, kValue and kList `values`.
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

  /// The settings of the thread on which the results of an operator depend.
  struct Modes {
    bool grad = true, inference = false;
    bool cast_cache = true;
    bool in_autocast = false;  // inside an AutocastGuard, which may turn autocast off
    std::vector<std::pair<DeviceType, ScalarType>> autocast;
    uint64_t excluded = 0;  // the excluded keys among Autograd and ADInplaceOrView, raw
    bool operator==(const Modes&) const = default;
    /// The settings of the calling thread.
    static Modes now();
  };

  /// A call of an operator.
  struct Node {
    explicit Node(const OperatorHandle& called) : op(called) {}
    OperatorHandle op;
    std::vector<Argument> arguments;  // complete, in the schema's order
    std::vector<Output> outputs;      // one per return
    Modes modes;                      // under which it was recorded
    /// Such as "aten::add.Tensor".
    std::string name() const { return op.operator_name().str(); }
    bool is(std::string_view full_name) const { return name() == full_name; }
    /// The first value of the first return. Throws if there is none.
    Value* result() const { return outputs.at(0).values.at(0); }
  };

  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  /// A copy of the nodes and values, with the same constants.
  Graph clone() const;

  /// Values in the order of the function's arguments, captures and results.
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& constants() const { return constants_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  /// The nodes in the order in which they run. A copy of the list, so a pass may change the graph while it loops.
  std::vector<Node*> nodes() const;
  size_t nodeCount() const { return nodes_.size(); }
  /// The value with this id; null if there is none.
  Value* value(int64_t id) const;

  /// Text with one line per input, constant and node. Equal graphs give equal texts.
  std::string print() const;
  /// Throws an error that names the node, unless
  ///   - each value is defined before its use;
  ///   - the arguments and returns of each node fit the schema of its operator;
  ///   - fake tensors that run through the graph get the recorded dtypes, devices and sizes.
  void verify() const;
  /// Calls the operators of the nodes, and returns the outputs. Inputs need the recorded dtypes, devices and sizes.
  /// They also need the recorded strides and offset if an operator depends on them (_reshape_alias, and what
  /// functionalized() makes of views). Throws if an input doesn't fit, and what an operator throws; earlier writes
  /// stay.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  /// The nodes with `value` among their arguments, in order, each once.
  std::vector<Node*> users(const Value* value) const;
  bool isOutput(const Value* value) const;
  /// Uses `by` instead of `value` everywhere, except in the node that gives `by`. Throws if dtypes or sizes differ.
  void replace(const Value* value, Value* by);
  /// Removes the node and its results. Throws if a result is used.
  void erase(const Node* node);
  /// Removes several nodes, which may use each other's results.
  void erase(const std::unordered_set<const Node*>& nodes);
  /// Inserts a node before `before`, with the modes of that; null: at the end, with the modes of the last node. `name`
  /// is as "aten::add.Tensor". Missing arguments get the schema's defaults. A call with fake tensors finds the specs of
  /// the results, and throws what the operator throws.
  Node* insert(const Node* before, std::string_view name, std::vector<Argument> arguments);
  void setOutputs(std::vector<Value*> outputs) { outputs_ = std::move(outputs); }
  Value* addInput(Spec spec);
  Value* addConstant(const Tensor& t);

  /// Removes nodes whose results nobody uses, then constants that nobody uses. Keeps nodes that write or draw random
  /// numbers, and custom operators, which may do so. Returns the number of removed nodes.
  int64_t eliminate_dead_code();
  /// Merges nodes that compute the same, if neither writes nor draws random numbers, and nothing is written in between.
  /// Returns the number of removed nodes.
  int64_t common_subexpressions();
  /// A graph in which composites are replaced, repeatedly, by the operators that they call. If `keep` returns true for
  /// an operator, it stays.
  Graph decompose(const std::function<bool(const OperatorHandle&)>& keep = nullptr) const;
  /// A graph that writes only to grads, and at the end, by a copy_ for each input and constant that this graph writes.
  /// In-place and out= operators become functional ones: transforms/functionalize.h.
  Graph functionalized() const;

  /// Writes one file: the graph as JSON, the storages of constants, and a checksum. It is written under another name
  /// and renamed, so readers see the old file or the new one. Throws for constants or arguments that a file can't hold
  /// (tensors that are not on the CPU, generators), and if writing fails.
  void save(const std::string& path) const;
  /// Reads a file of this or an older format version. Constants are new tensors. Arguments that an operator has gained
  /// since take their defaults. Throws, with the reason,
  ///   - if the file is no graph, of a newer format version, truncated or damaged;
  ///   - if an operator isn't registered, or no longer takes the stored arguments.
  static Graph load(const std::string& path);
  /// The JSON of save(), indented.
  std::string toJson() const;

  // For code that records, loads and runs graphs.
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

/// The current spec of `t`.
SHUNT_API Graph::Spec specOf(const Tensor& t);
/// Whether an operator draws random numbers: one of its overloads takes a generator, or a list in passes.cpp names it.
SHUNT_API bool drawsRandomNumbers(const OperatorHandle& op);

}  // namespace shunt
