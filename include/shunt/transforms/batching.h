// Batching rules: how vmap runs a custom operator once for a whole batch.
//
//   Batched scale(const Batched& x, double k) {  // of mine::scale(Tensor x, float k) -> Tensor
//     static const auto op = Dispatcher::singleton().findSchemaOrThrow("mine::scale", "")
//                                .typed<Tensor(const Tensor&, double)>();
//     return {op.call(x.value, k), x.dim};
//   }
//   SHUNT_LIBRARY_FRAGMENT(mine, m) { register_vmap(m, "mine::scale", &scale); }
//
// A rule gets the arguments of one call, each tensor with its batch dimension, and returns the results with theirs. It
// runs outside its vmap: the operators that it calls get whole batches, record gradients, and pass through the outer
// transforms as usual. Without a rule, vmap calls an operator once for each sample. Elementwise operators
// (Library::elementwise) need no rule.
//
// A rule is registered like a kernel: it is in force while its Library lives, and a newer rule overrides older ones.
// Any thread may register. Several threads that run vmap may call a rule at once.
#pragma once

#include <shunt/core/library.h>
#include <shunt/transforms/vmap.h>

#include <functional>
#include <string_view>
#include <utility>

namespace shunt {

/// A tensor of a batched call, with its batch dimension.
struct Batched {
  Tensor value;  // of the whole batch
  /// The dimension of `value` that counts samples; nullopt if all samples share `value`. In arguments it is never
  /// negative; in results, a negative one counts from the end.
  std::optional<int64_t> dim;

  Batched() = default;
  /// The dimension has no default: for a result with one part per sample, nullopt gives every sample the whole `value`,
  /// and no check can notice that, since a result that doesn't depend on the sample may have any shape.
  Batched(Tensor v, std::optional<int64_t> d) : value(std::move(v)), dim(d) {}

  /// Whether each sample has its part of `value`.
  bool is_batched() const { return dim.has_value(); }
  /// The number of dimensions of one sample.
  int64_t sample_dim() const { return value.dim() - (dim ? 1 : 0); }
  /// A view of `value` with the batch as its first dimension; `value` itself if it has no batch.
  SHUNT_API Tensor in_front() const;
  /// The same, but a value without a batch is expanded to `size` samples, without a copy.
  SHUNT_API Tensor in_front(int64_t size) const;
  /// For operators that broadcast: a view with the batch first, then dimensions of size 1, so that a sample has `dims`
  /// dimensions. `value` itself if it has no batch.
  SHUNT_API Tensor aligned(int64_t dims) const;
};

/// What a rule may need to know of the innermost vmap.
struct BatchInfo {
  /// The number of samples; may be 0.
  int64_t size;
  /// What random operators do. The rule of a random operator must follow it.
  Randomness randomness;
};

/// One call of an operator with at least one batched tensor, for a boxed rule. The caller owns it; it is valid during
/// the call.
class SHUNT_API BatchingRuleCall {
 public:
  /// The batch dimension of each tensor of an argument.
  using Dims = std::vector<std::optional<int64_t>>;

  /// The operator that was called, and the vmap in which.
  const OperatorHandle& op() const { return op_; }
  const BatchInfo& info() const { return info_; }
  size_t num_arguments() const { return arguments_.size(); }
  /// Argument `i` of the schema, with Batched::value in place of batched tensors. Throws if `i` is out of range.
  IValue& argument(size_t i) { return arguments_.at(i); }
  /// The batch dimensions of argument `i`: one of a tensor, one per member of a list, none of other arguments.
  const Dims& in_dims(size_t i) const { return in_dims_.at(i); }
  /// A tensor argument; its value is undefined if it is absent. Throws for arguments of other types.
  Batched batched(size_t i) const;
  /// The members of a list of tensors; absent ones have undefined values.
  std::vector<Batched> batched_list(size_t i) const;

  /// Adds the next result. For a written argument, this is the argument's Batched, whose value the rule has written.
  void add_result(Batched result) { results_.push_back({{std::move(result)}, false}); }
  void add_result(std::vector<Batched> list) { results_.push_back({std::move(list), true}); }

  /// One result, as add_result() got it.
  struct Result {
    std::vector<Batched> tensors;
    bool is_list;
  };
  /// For the code that calls the rule.
  BatchingRuleCall(const OperatorHandle& op, BatchInfo info, Stack arguments, std::vector<Dims> in_dims);
  const std::vector<Result>& results() const { return results_; }

 private:
  const OperatorHandle op_;
  const BatchInfo info_;
  Stack arguments_;
  std::vector<Dims> in_dims_;
  std::vector<Result> results_;
};

namespace detail {

struct BatchingRule {
  std::function<void(BatchingRuleCall&)> run;
  std::optional<CppSignature> signature;  // of the rule, with schema types; nullopt for a boxed rule
};

/// Throws, and registers nothing, if the operator isn't defined or its schema doesn't fit the rule.
SHUNT_API void registerBatchingRule(Library& m, std::string_view name, BatchingRule rule, std::source_location where);
SHUNT_API Library libraryOfBatchingRule(std::string_view name, BatchingRule rule, std::source_location where);

template <class T>
inline constexpr bool kIsTensors =
    std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>> || std::is_same_v<T, TensorList> ||
    std::is_same_v<T, TensorOptList> || std::is_same_v<T, std::vector<Tensor>>;

/// How a rule takes an argument: a tensor as Batched, others as a kernel takes them.
template <class T>
struct RuleArgument {
  static_assert(
      !kIsTensors<T>,
      "a batching rule takes Batched in the place of Tensor, std::optional<Batched> of std::optional<Tensor>, "
      "std::vector<Batched> of TensorList, std::vector<std::optional<Batched>> of a list of optional ones");
  static Type schemaType() { return boxing::BoxTraits<T>::schemaType(); }
  static decltype(auto) take(BatchingRuleCall& call, size_t i) { return boxing::BoxTraits<T>::unbox(call.argument(i)); }
};
template <>
struct RuleArgument<Batched> {
  static Type schemaType() { return boxing::BoxTraits<Tensor>::schemaType(); }
  static Batched take(BatchingRuleCall& call, size_t i) { return call.batched(i); }
};
template <>
struct RuleArgument<std::optional<Batched>> {
  static Type schemaType() { return boxing::BoxTraits<std::optional<Tensor>>::schemaType(); }
  static std::optional<Batched> take(BatchingRuleCall& call, size_t i) { return present(call.batched(i)); }
  static std::optional<Batched> present(Batched b) {
    return b.value.defined() ? std::optional<Batched>(std::move(b)) : std::nullopt;
  }
};
template <>
struct RuleArgument<std::vector<Batched>> {
  static Type schemaType() { return boxing::BoxTraits<TensorList>::schemaType(); }
  static std::vector<Batched> take(BatchingRuleCall& call, size_t i) { return call.batched_list(i); }
};
template <>
struct RuleArgument<std::vector<std::optional<Batched>>> {
  static Type schemaType() { return boxing::BoxTraits<TensorOptList>::schemaType(); }
  static std::vector<std::optional<Batched>> take(BatchingRuleCall& call, size_t i) {
    std::vector<std::optional<Batched>> list;
    for (Batched& b : call.batched_list(i)) list.push_back(RuleArgument<std::optional<Batched>>::present(std::move(b)));
    return list;
  }
};

/// What a rule returns.
template <class R>
struct RuleReturn {
  static_assert(std::is_same_v<R, Batched> || std::is_same_v<R, std::vector<Batched>>,
                "a batching rule returns Batched, std::vector<Batched>, a tuple of these, or nothing");
  static std::vector<Type> schemaTypes() { return {RuleArgument<R>::schemaType()}; }
  static void add(BatchingRuleCall& call, R&& result) { call.add_result(std::move(result)); }
};
template <>
struct RuleReturn<void> {
  static std::vector<Type> schemaTypes() { return {}; }
};
template <class... R>
struct RuleReturn<std::tuple<R...>> {
  static std::vector<Type> schemaTypes() { return {RuleReturn<R>::schemaTypes()[0]...}; }
  static void add(BatchingRuleCall& call, std::tuple<R...>&& results) {
    std::apply([&](R&... r) { (RuleReturn<R>::add(call, std::move(r)), ...); }, results);
  }
};

/// A rule with typed arguments, which may have a BatchInfo before them.
template <class R, class Args>
struct TypedRule;
template <class R, class... A>
struct TypedRule<R, boxing::Types<A...>> {
  template <class F, class... Info>
  static void run(F& f, BatchingRuleCall& call, const Info&... info) {
    checkCount(call);
    const auto invoke = [&]<size_t... I>(std::index_sequence<I...>) -> R {
      return f(info..., RuleArgument<std::remove_cvref_t<A>>::take(call, I)...);
    };
    if constexpr (std::is_void_v<R>)
      invoke(std::index_sequence_for<A...>());
    else
      RuleReturn<R>::add(call, invoke(std::index_sequence_for<A...>()));
  }
  static CppSignature signature(const std::type_info& id) {
    return {&id,
            {RuleArgument<std::remove_cvref_t<A>>::schemaType()...},
            RuleReturn<R>::schemaTypes(),
            std::vector<bool>(sizeof...(A), false)};
  }

 private:
  /// Needed because the operator may have been defined again since, with another schema.
  static void checkCount(const BatchingRuleCall& call) {
    SHUNT_CHECK(call.num_arguments() == sizeof...(A), "vmap: the batching rule of operator ", call.op().operator_name(),
                " takes ", sizeof...(A), " arguments, and the operator has ", call.num_arguments());
  }
};

template <class F, class R, class... A>
BatchingRule typedRule(F f, boxing::Types<A...>) {
  return {[f = std::move(f)](BatchingRuleCall& call) mutable { TypedRule<R, boxing::Types<A...>>::run(f, call); },
          TypedRule<R, boxing::Types<A...>>::signature(typeid(R(A...)))};
}
template <class F, class R, class Info, class... A>
  requires(std::is_same_v<std::remove_cvref_t<Info>, BatchInfo>)
BatchingRule typedRule(F f, boxing::Types<Info, A...>) {
  return {[f = std::move(f)](BatchingRuleCall& call) mutable {
            TypedRule<R, boxing::Types<A...>>::run(f, call, call.info());
          },
          TypedRule<R, boxing::Types<A...>>::signature(typeid(R(Info, A...)))};
}

template <class F>
BatchingRule makeBatchingRule(F f) {
  if constexpr (std::is_same_v<F, BatchingRule>) {
    return f;
  } else {
    using T = boxing::FunctionTraits<F>;
    if constexpr (std::is_same_v<typename T::Args, boxing::Types<BatchingRuleCall&>>)
      return {std::move(f), std::nullopt};
    else
      return typedRule<F, typename T::Return>(std::move(f), typename T::Args());
  }
}

}  // namespace detail

/// Registers a batching rule for the operator `name` ("mine::op" or "mine::op.overload"). `m` is a block or library of
/// its namespace; a block for a key must be for Batched. The rule is a function or a copyable callable:
///   R rule(A...), R rule(const BatchInfo&, A...)   as a kernel of the operator, but with Batched in place of Tensor,
///                                                  std::optional<Batched> of std::optional<Tensor>, and
///                                                  std::vector<Batched> of TensorList
///   void rule(BatchingRuleCall&)                   for any operator
/// The rule is called in a vmap, if an argument is batched. Other calls don't change.
/// Registration throws, and changes nothing, if no operator of that name is defined, its schema doesn't fit the rule,
/// or it returns something else than tensors. A call throws if
///   - the dimension of a result doesn't exist, or its size differs from the batch's;
///   - a result with a dimension is undefined;
///   - the number of results is not that of the schema.
template <class F>
void register_vmap(Library& m, std::string_view name, F rule,
                   std::source_location where = std::source_location::current()) {
  detail::registerBatchingRule(m, name, detail::makeBatchingRule(std::move(rule)), where);
}

/// The same outside a library block. The rule is in force while the returned library lives.
template <class F>
[[nodiscard]] Library register_vmap(std::string_view name, F rule,
                                    std::source_location where = std::source_location::current()) {
  return detail::libraryOfBatchingRule(name, detail::makeBatchingRule(std::move(rule)), where);
}

}  // namespace shunt
