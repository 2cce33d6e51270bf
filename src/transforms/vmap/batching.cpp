// A program's batching rules: their registration, and the kernel of the key Batched that runs one.
#include <shunt/transforms/batching.h>

#include "src/core/alias_sets.h"
#include "src/dispatch/errors.h"
#include "src/dispatch/reliance.h"
#include "src/dispatch/unknown_operator.h"
#include "src/tensor/printing.h"
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

#include <utility>

namespace shunt {

Tensor Batched::in_front() const {
  if (!dim || *dim == 0) return value;
  std::vector<int64_t> order = {*dim};
  for (int64_t d = 0; d < value.dim(); ++d)
    if (d != *dim) order.push_back(d);
  return ops::permute::call(value, order);
}

Tensor Batched::in_front(int64_t size) const {
  if (dim) return in_front();
  std::vector<int64_t> sizes = {size};
  sizes.insert(sizes.end(), value.sizes().begin(), value.sizes().end());
  return ops::expand::call(ops::unsqueeze::call(value, 0), sizes, false);
}

Tensor Batched::aligned(int64_t dims) const {
  if (!dim) return value;
  Tensor t = in_front();
  for (int64_t d = sample_dim(); d < dims; ++d) t = ops::unsqueeze::call(t, 1);
  return t;
}

BatchingRuleCall::BatchingRuleCall(const OperatorHandle& op, BatchInfo info, Stack arguments, std::vector<Dims> in_dims)
    : op_(op), info_(info), arguments_(std::move(arguments)), in_dims_(std::move(in_dims)) {}

Batched BatchingRuleCall::batched(size_t i) const {
  const IValue& v = arguments_.at(i);
  if (v.isNone()) return {};
  return {v.toTensor(), in_dims_.at(i).at(0)};
}

std::vector<Batched> BatchingRuleCall::batched_list(size_t i) const {
  const IValue& v = arguments_.at(i);
  std::vector<Batched> list;
  const auto add = [&](const Tensor& t) { list.push_back({t, in_dims_.at(i).at(list.size())}); };
  if (v.isOptionalTensorList())
    for (const std::optional<Tensor>& t : v.toOptionalTensorVector()) add(t.value_or(Tensor()));
  else if (!v.isNone())
    for (const Tensor& t : v.toTensorVector()) add(t);
  return list;
}

namespace levels {
namespace {

std::optional<int64_t> batchDim(const BatchedCall& call, const Tensor& t) {
  return call.isBatched(t) ? std::optional<int64_t>(storageOf(t).batch_dim) : std::nullopt;
}

BatchingRuleCall::Dims inDims(const BatchedCall& call, const IValue& v) {
  BatchingRuleCall::Dims dims;
  if (v.isTensor()) dims.push_back(batchDim(call, v.toTensor()));
  if (v.isTensorList())
    for (const Tensor& t : v.toTensorVector()) dims.push_back(batchDim(call, t));
  if (v.isOptionalTensorList())
    for (const std::optional<Tensor>& t : v.toOptionalTensorVector())
      dims.push_back(t ? batchDim(call, *t) : std::nullopt);
  return dims;
}

BatchingRuleCall ruleCall(const BatchedCall& call) {
  Stack values = call.args;
  mapTensors(values, values.size(), [&](const Tensor& t) { return call.isBatched(t) ? storageOf(t).value : t; });
  std::vector<BatchingRuleCall::Dims> in_dims;
  for (const IValue& v : call.args) in_dims.push_back(inDims(call, v));
  return {call.op, {call.size, call.level.randomness}, std::move(values), std::move(in_dims)};
}

void checkWritesBatched(const BatchedCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.schema.arguments()[i].is_write())
      forEachTensor(call.args[i], [&](const Tensor& t) {
        if (!call.isBatched(t)) throwWritesUnbatched(call, i, t);
      });
}

bool isAnyBatched(const Level& level, const Stack& stack, size_t n) {
  bool any = false;
  forEachTensor(stack, n, [&](const Tensor& t) { any |= belongsTo(t, level); });
  return any;
}

/// The kernel of an operator that has a rule.
class RuleKernel {
 public:
  RuleKernel(std::function<void(BatchingRuleCall&)> rule, std::source_location where)
      : rule_(std::move(rule)), where_(where) {}

  void operator()(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) const {
    const LevelFrame* frame = innermost();
    const bool in_vmap = frame != nullptr && frame->level().kind == Kind::kVmap;
    if (!in_vmap || !isAnyBatched(frame->level(), *stack, op.schema().arguments().size()))
      return batchedFallback(op, keys, stack);
    detail::relyOn(op.op());  // as the fallback does
    runOutside(op, stack, *frame, [this](BatchedCall& call) { run(call); });
  }

 private:
  void run(BatchedCall& call) const {
    checkWritesBatched(call);
    BatchingRuleCall rule_call = ruleCall(call);
    rule_(rule_call);
    countRule();
    takeResults(call, rule_call);
  }

  /// Checks the results and moves them to `call`.
  void takeResults(BatchedCall& call, BatchingRuleCall& from) const {
    const auto& returns = call.schema.returns();
    const auto& results = from.results();
    SHUNT_CHECK(results.size() == returns.size(), whose(call), " returned ", results.size(), " results: expected ",
                returns.size(), ", as in the schema ", call.schema);
    const auto written = detail::returnedArguments(call.schema, call.args, {});
    for (size_t r = 0; r < results.size(); ++r) {
      SHUNT_CHECK(results[r].is_list == returns[r].type.list, whose(call), " returned a ",
                  results[r].is_list ? "list of tensors" : "tensor", " as result ", r, ": expected ", returns[r].type);
      if (written[r]) {
        checkIsArgument(call, from, results[r], r, *written[r]);
        call.results.push_back(IValue());
      } else {
        addResult(call, results[r], r);
      }
    }
  }

  void addResult(BatchedCall& call, const BatchingRuleCall::Result& result, size_t r) const {
    std::vector<Tensor> values;
    for (const Batched& b : result.tensors) {
      if (const auto dim = outDim(call, b, r); b.value.defined()) call.out_dims.push_back(dim);
      values.push_back(b.value);
    }
    call.results.push_back(result.is_list ? IValue(std::move(values)) : IValue(std::move(values[0])));
  }

  std::optional<int64_t> outDim(const BatchedCall& call, const Batched& b, size_t r) const {
    if (!b.dim) return std::nullopt;
    const auto gave = [&] { return detail::str(whose(call), " returned out_dim ", *b.dim, " for result ", r, ", "); };
    SHUNT_CHECK(b.value.defined(), gave(), "an undefined tensor: expected a tensor, or no out_dim");
    const int64_t dims = b.value.dim();
    SHUNT_CHECK_INDEX(*b.dim >= -dims && *b.dim < dims, gave(), "a tensor of shape ", b.value.sizes(),
                      dims == 0 ? ", which has no dimension to be the batch: expected no out_dim"
                                : detail::str(": expected a dimension in [", -dims, ", ", dims - 1, "]"));
    const int64_t dim = *b.dim < 0 ? *b.dim + dims : *b.dim;
    SHUNT_CHECK(b.value.size(dim) == call.size, gave(), "a tensor of shape ", b.value.sizes(), ", which has ",
                b.value.size(dim), " samples there: expected the batch's ", call.size);
    return dim;
  }

  void checkIsArgument(const BatchedCall& call, BatchingRuleCall& from, const BatchingRuleCall::Result& result,
                       size_t r, size_t argument) const {
    std::vector<Tensor> given;
    forEachTensor(from.argument(argument), [&](const Tensor& t) { given.push_back(t); });
    bool same = given.size() == result.tensors.size();
    for (size_t i = 0; same && i < given.size(); ++i) same = given[i].is_same(result.tensors[i].value);
    SHUNT_CHECK(same, whose(call), " returned another tensor as result ", r, " than its argument '",
                call.schema.arguments()[argument].name,
                "', which the schema says is written and returned: ", call.schema,
                ". Write to the argument's value, and return that");
  }

  std::string whose(const BatchedCall& call) const {
    return detail::str("vmap: the batching rule of operator ", call.op.operator_name(), " (", placeOf(where_), ")");
  }

  std::function<void(BatchingRuleCall&)> rule_;
  std::source_location where_;
};

void checkRule(const FunctionSchema& schema, const detail::BatchingRule& rule, std::source_location where) {
  for (const Argument& r : schema.returns())
    SHUNT_CHECK(r.type.isPlain(TypeKind::Tensor) || r.type == Type::listOf(Type()), "register_vmap(\"",
                schema.operator_name(), "\"): the operator returns ", r.type,
                ", which has no batch: expected Tensor or Tensor[] in the schema ", schema);
  if (!rule.signature) return;
  const std::string what = misfit(schema, *rule.signature);
  SHUNT_CHECK(what.empty(), "register_vmap(\"", schema.operator_name(), "\"): the rule does not fit the schema: ", what,
              "\n  schema: ", schema, "\n  rule:   ", rule.signature->str(), "\n          registered at ",
              placeOf(where));
}

OperatorName nameOf(std::string_view text) {
  OperatorName name = parseName(text);
  SHUNT_CHECK(name.getNamespace().has_value(), "register_vmap(\"", text,
              "\"): expected the operator's name with its namespace, such as \"mine::", text, "\"");
  return name;
}

}  // namespace
}  // namespace levels

void detail::registerBatchingRule(Library& m, std::string_view text, BatchingRule rule, std::source_location where) {
  const OperatorName name = levels::nameOf(text);
  const auto op = Dispatcher::singleton().findSchema(name);
  SHUNT_CHECK(op.has_value(), "register_vmap(\"", text, "\"): ", whyNotFound(name));
  levels::checkRule(op->schema(), rule, where);
  m.impl(text,
         dispatch(DispatchKey::Batched, CppFunction::makeFromBoxed(levels::RuleKernel(std::move(rule.run), where))),
         where);
}

Library detail::libraryOfBatchingRule(std::string_view text, BatchingRule rule, std::source_location where) {
  Library m(Library::Kind::kImpl, std::string(*levels::nameOf(text).getNamespace()), DispatchKey::Batched, where);
  registerBatchingRule(m, text, std::move(rule), where);
  return m;
}

}  // namespace shunt
