// One call of an operator in a vmap level, as rules see it, and the table of rules. A local value, on the call's
// thread.
#pragma once

#include "src/transforms/vmap/levels.h"

#include <shunt/core/function_ref.h>
#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>
#include <shunt/core/stack_tensors.h>

#include <vector>

namespace shunt::elementwise {
struct KernelDescriptor;
}

namespace shunt::levels {

class BatchedCall;
/// Reads the call's arguments and sets its results. Runs outside of the level.
using Rule = void (*)(BatchedCall&);

enum class BatchKind : uint8_t { kPointwise, kDims, kReduction, kRule, kRandom, kUnsupported };

/// What kernels/operators/batching.yaml says of an operator.
struct BatchRow {
  struct Argument {
    int8_t position = -1;
    char role = 0;  // 'd': dimensions, 'e': of a tensor with one more, 'a': all, 's': sizes
  };
  const Operator* op;
  BatchKind kind;
  Argument arguments[3];
  Rule rule;
  const Operator* functional;  // of an in-place form whose rule is that operator's
  const char* reason;          // of a refusal
};
/// Null for operators that aren't in the table.
const BatchRow* rowOf(const Operator& op);

class BatchedCall {
 public:
  /// `arguments`: a copy of the call's, of which some tensors belong to the level.
  BatchedCall(const OperatorHandle& op, Stack arguments, const Level& level)
      : op(op), schema(op.schema()), args(std::move(arguments)), level(level), size(level.size) {}

  bool isBatched(const Tensor& t) const { return belongsTo(t, level); }
  bool isBatched(size_t i) const { return args[i].isTensor() && isBatched(args[i].toTensor()); }
  /// The position of the argument of this name.
  size_t position(const char* name) const;

  // Arguments. Tensors are as the operator was given them: sizes are those of one sample.
  const Tensor& tensor(size_t i) const { return args[i].toTensor(); }
  /// Undefined where the argument is absent.
  Tensor optionalTensor(size_t i) const { return args[i].isNone() ? Tensor() : args[i].toTensor(); }
  int64_t integer(size_t i) const { return args[i].toInt(); }
  std::vector<int64_t> integers(size_t i) const {
    return args[i].isNone() ? std::vector<int64_t>() : args[i].toIntVector();
  }
  std::optional<int64_t> optionalInteger(size_t i) const {
    return args[i].isNone() ? std::nullopt : std::optional<int64_t>(args[i].toInt());
  }
  bool flag(size_t i) const { return args[i].toBool(); }
  std::optional<ScalarType> optionalDtype(size_t i) const {
    return args[i].isNone() ? std::nullopt : std::optional<ScalarType>(static_cast<ScalarType>(args[i].toInt()));
  }

  // Values.
  /// The value of a batched tensor with the batch dimension in front; another tensor as it is.
  Tensor front(const Tensor& t) const;
  /// The same, where every tensor has the batch dimension: others are repeated, without a copy.
  Tensor expanded(const Tensor& t) const;
  /// Of an undefined tensor, undefined.
  Tensor expandedIfDefined(const Tensor& t) const { return t.defined() ? expanded(t) : t; }
  /// `sizes` after the batch.
  std::vector<int64_t> withBatch(IntArrayRef sizes) const;

  // Results: tensors with the batch dimension in front, or lists of them.
  void setResult(Tensor t) { results = {IValue(std::move(t))}; }
  void addResult(Tensor t) { results.push_back(IValue(std::move(t))); }

  const OperatorHandle op;
  const FunctionSchema& schema;
  Stack args;
  const Level& level;
  const int64_t size;
  Stack results;
  /// Of a loop over the batch, for each result the argument that it is, if it is one (detail::returnedArguments).
  std::vector<std::optional<size_t>> returned;
  /// What a view operator in place makes of its argument; undefined for all others.
  Tensor replaced;
  /// Of a program's rule, for each defined tensor among the results that are new, in order: where it has the batch, if
  /// it has one. Empty: in front.
  std::vector<std::optional<int64_t>> out_dims;
};

/// The call of an operator without rule: once for each sample. Outside of the level.
void loopOverBatch(BatchedCall& call);
/// The same without the warning that it is slow.
void loopSilently(BatchedCall& call);
/// The same of a batch without samples: results without elements, of the dtypes and shapes that a sample's would have.
void loopOverNone(BatchedCall& call);
/// Fake tensors that look as the results of one sample would. Throws what the operator has to say against a sample.
Stack resultsOfNone(const BatchedCall& call);
/// Whether a graph of what the call does may be recorded outside of the level.
bool isRecorded(const BatchedCall& call);
/// Whether an argument shows memory that the call writes through another one; but for the same elements in the same
/// order, where `elementwise`. What a sample's call does with that, its kernel knows: it may refuse it.
bool readsWhatItWrites(const BatchedCall& call, bool elementwise);
/// Throws that the operator writes to an argument without batch, though another one has one.
[[noreturn]] void throwWritesUnbatched(const BatchedCall& call, size_t written);
/// The same of `t`, a member of a written list.
[[noreturn]] void throwWritesUnbatched(const BatchedCall& call, size_t written, const Tensor& t);
/// The argument by which an error speaks of the batch: the first batched one.
std::string batchedArgument(const BatchedCall& call);

void runPointwise(BatchedCall& call);
/// The same of an operator whose kernel a program has made from a functor.
void runElementwise(BatchedCall& call, const elementwise::KernelDescriptor& functor);
/// The functor from which the kernel was made that calls with this backend's keys run; null: from none. It is static
/// in its library, and outlives the kernel, which may be taken back meanwhile.
const elementwise::KernelDescriptor* functorOf(const Operator& op, DispatchKeySet keys);
void runDims(BatchedCall& call, const BatchRow& row);
void runRandom(BatchedCall& call);
/// A call without a batched tensor in the innermost level, a vmap: whether it has been made, as that of a random
/// operator that draws other numbers for each sample. Throws where the level allows no random numbers.
bool runRandomUnbatched(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame);
/// dropout in the innermost level, a grad, where a vmap further out draws for each sample: the mask is drawn there,
/// with the same numbers, and gets a batch. Whether it has been made.
bool runDropoutInGrad(const OperatorHandle& op, Stack* stack, const LevelFrame& frame);
/// The kernel of the key Batched.
void batchedFallback(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
/// The kernel of the key TransformBack.
void transformBack(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
/// Whether the operator has parts and no kernel of its own for these keys' backend.
bool isComposite(const Operator& op, DispatchKeySet keys);
/// Whether a vmap level runs the operator by its parts: a composite without a rule. A program's Autograd kernel stands
/// before the parts where arguments require grad; levels see no such keys, so the loop over the batch calls it then.
bool isRunByParts(const Operator& op, DispatchKeySet keys);
/// The backends of a call with these keys, and the keys of the autocast that is on for its operator. Inside of trace()
/// wrappers tell no backend, so that of nearly all tensors.
DispatchKeySet backendsOf(DispatchKeySet keys);
DispatchKeySet autocastFor(const Operator& op, DispatchKeySet keys);
/// Registers kernels for both keys: of pointwise operators, of others that gradients are made of (registerInGrad), and
/// of the composites that networks call. Once, with the dictionary.
void registerPointwise();
void registerInGrad();
void registerComposites();
/// A rule has served.
void countRule() noexcept;
/// The call of an operator in the innermost level, a vmap, by `rule`, which runs outside of the level.
void runOutside(const OperatorHandle& op, Stack* stack, const LevelFrame& frame, FunctionRef<void(BatchedCall&)> rule);
/// The call of an operator in the innermost level, a vmap: by its rule, by its parts, or once for each sample.
void runInVmap(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame);
/// A composite of products that has a shorter way for this call than its kernel: whether it has been made. Inside of
/// the level.
bool runProductOfSamples(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame);
/// The same of `linear`: undefined where it has none. `keys`: of a backend's dense tensors.
Tensor linearOfSamples(DispatchKeySet keys, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias);

namespace rules {
void addmm(BatchedCall&);
void all(BatchedCall&);
void alongIndex(BatchedCall&);
void any(BatchedCall&);
void argExtremum(BatchedCall&);
void asStrided(BatchedCall&);
void asStridedScatter(BatchedCall&);
void baddbmm(BatchedCall&);
void batchNorm(BatchedCall&);
void batchNormBackward(BatchedCall&);
void bmm(BatchedCall&);
void cat(BatchedCall&);
void convolution(BatchedCall&);
void convolutionBackward(BatchedCall&);
void copy(BatchedCall&);
void detachInPlace(BatchedCall&);
void dot(BatchedCall&);
void expand(BatchedCall&);
void factors(BatchedCall&);
void fillTensor(BatchedCall&);
void indexAdd(BatchedCall&);
void indexPut(BatchedCall&);
void indexSelect(BatchedCall&);
void indexTensors(BatchedCall&);
void layerNorm(BatchedCall&);
void layerNormBackward(BatchedCall&);
void maskedFill(BatchedCall&);
void max(BatchedCall&);
void mean(BatchedCall&);
void median(BatchedCall&);
void min(BatchedCall&);
void mm(BatchedCall&);
void mv(BatchedCall&);
void nanmedian(BatchedCall&);
void newEmptyStrided(BatchedCall&);
void nllLoss(BatchedCall&);
void nllLossBackward(BatchedCall&);
void norm(BatchedCall&);
void pointwiseLoss(BatchedCall&);
void pointwiseLossBackward(BatchedCall&);
void pool(BatchedCall&);
void prod(BatchedCall&);
void reshapeAlias(BatchedCall&);
void solutions(BatchedCall&);
void squeeze(BatchedCall&);
void sum(BatchedCall&);
void t(BatchedCall&);
void topk(BatchedCall&);
void trace(BatchedCall&);
void view(BatchedCall&);
void viewDtype(BatchedCall&);
}  // namespace rules

}  // namespace shunt::levels
