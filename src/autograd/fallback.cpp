// The default Autograd kernel: for operators that have no derivative. Passes the call on, and gives floating-point
// results of recorded calls a node whose backward throws, so that no gradient is ever lost silently.
#include "src/base/immortal.h"
#include "src/dispatch/dispatcher_impl.h"

#include <shunt/autograd/not_implemented.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/library.h>
#include <shunt/core/stack_tensors.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace shunt::autograd {
namespace {

struct Arguments {
  variable_list all;
  variable_list by_position;  // undefined for arguments that are not tensors
  variable_list written;
  bool gives_out = false;  // an out= argument
  bool requires_grad = false;
};

Arguments collect(const FunctionSchema& schema, const Stack& stack) {
  Arguments result;
  const size_t n = schema.arguments().size();
  for (size_t i = 0; i < n; ++i) {
    const IValue& value = stack[stack.size() - n + i];
    result.by_position.push_back(value.isTensor() ? value.toTensor() : Tensor());
    forEachTensor(value, [&](const Tensor& t) {
      result.all.push_back(t);
      if (schema.arguments()[i].is_write()) result.written.push_back(t);
      result.gives_out |= schema.arguments()[i].is_out();
      result.requires_grad |= compute_requires_grad(t);
    });
  }
  return result;
}

// The argument that the result is a view of, by the schema's alias sets; none for results of their own or written ones.
std::optional<size_t> baseOfReturn(const FunctionSchema& schema, const Argument& ret) {
  // Of Tensor[](a) the list's.
  const std::optional<AliasInfo>& returned = ret.alias ? ret.alias : ret.container_alias;
  if (!returned || returned->is_write) return std::nullopt;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto& alias = schema.arguments()[i].alias;
    if (alias && alias->before_sets == returned->before_sets) return i;
  }
  return std::nullopt;
}

/// What the written view becomes a view of again: nothing, where its operator has no derivative.
ViewFunc forbidden(const FunctionSchema& schema) {
  return [name = schema.name()](const Tensor&) -> Tensor {
    throw Error(shunt::detail::str("Mutating the view ", name,
                                   " which does not have a derivative implemented is forbidden. Clone it first."));
  };
}

IValue viewOf(const Tensor& base, const IValue& value, const ViewFunc& view_func) {
  const CreationMeta now = current_creation_meta();
  if (value.isTensor()) return as_view(base, value.toTensor(), true, now, view_func);
  return as_view(base, value.toTensorVector(), true,
                 now == CreationMeta::kDefault ? CreationMeta::kMultiOutputNode : now);
}

using Written = std::vector<std::pair<Tensor, intrusive_ptr<Node>>>;

/// A node for each tensor that is written. CopySlices expects the written tensor's edge first.
Written nodesOfWritten(const FunctionSchema& schema, const Arguments& args) {
  Written out;
  for (const Tensor& t : args.written)
    out.emplace_back(t, make_intrusive<NotImplemented>(schema.name(), collect_next_edges(TensorList(&t, 1), args.all)));
  return out;
}

/// The written tensor has a new place in the graph, once.
void rebase(Written& written, const Tensor& t) {
  intrusive_ptr<Node> node;
  for (auto& [tensor, its] : written)
    if (tensor.is_same(t)) node = std::exchange(its, nullptr);
  if (node) rebase_history(t, std::move(node));
}

bool isWritten(const Written& written, const Tensor& t) {
  return std::any_of(written.begin(), written.end(), [&](const auto& w) { return w.first.is_same(t); });
}

/// `written` is empty where nothing is recorded, and `node` null.
void wrapReturns(const FunctionSchema& schema, Stack& stack, const Arguments& args, const intrusive_ptr<Node>& node,
                 Written written, const ViewFunc& view_func) {
  const size_t n = schema.returns().size();
  for (size_t i = 0; i < n; ++i) {
    IValue& value = stack[stack.size() - n + i];
    const Argument& ret = schema.returns()[i];
    if (const auto base = baseOfReturn(schema, ret);
        base && (value.isTensor() || value.isTensorList()) && args.by_position[*base].defined())
      value = viewOf(args.by_position[*base], value, view_func);
    if (!node) continue;
    forEachTensor(value, [&](const Tensor& t) {
      if (!t.is_floating_point()) return;
      if (ret.is_write() && isWritten(written, t))
        rebase(written, t);
      else
        set_history(t, node);  // also where the argument that it would be isn't given
    });
  }
  // What is written and not returned would keep the gradient that it had.
  for (const auto& [t, its] : Written(written))
    if (its && t.requires_grad()) rebase(written, t);
}

template <bool kForbidsWrites>
void autogradFallback(const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  const FunctionSchema& schema = op.schema();
  const Arguments args = collect(schema, *stack);
  for (const Tensor& t : args.written) check_inplace(t, args.requires_grad);
  if (args.gives_out && args.requires_grad) throw_error_out_requires_grad(schema.name().c_str());
  intrusive_ptr<Node> node;
  Written written;
  if (args.requires_grad) {
    node = make_intrusive<NotImplemented>(schema.name(), collect_next_edges(TensorList(), args.all));
    written = nodesOfWritten(schema, args);
  }
  const DispatchKeySet below = ks & DispatchKeySet::fullAfter(DispatchKey::AutogradOther);
  {
    AutoDispatchBelowAutograd guard;
    op.redispatchBoxed(below, stack);
  }
  for (const Tensor& t : args.written) increment_version(t);
  wrapReturns(schema, *stack, args, node, std::move(written), kForbidsWrites ? forbidden(schema) : nullptr);
}

/// Which results are views has to follow from the first argument and the first result alone.
void checkViews(const FunctionSchema& schema) {
  bool is_view = false;
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    const auto base = baseOfReturn(schema, schema.returns()[i]);
    if (!base) continue;
    SHUNT_CHECK(!is_view,
                "Expected only a single output in the operator schema to have a non-write alias annotation (i.e., "
                "'Tensor(a)'), but got ",
                schema, ". Write the operator as a composite of several.");
    SHUNT_CHECK(*base == 0 && i == 0, schema.name(),
                ": AutogradNotImplementedFallback can only create view relationships between the first input and the "
                "first output (which may be a list of tensors), but got ",
                schema);
    is_view = true;
  }
}

/// Counts writes and makes views where no Autograd kernel below does, because nothing is recorded.
void inplaceOrViewFallback(const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  constexpr DispatchKeySet kBelow = DispatchKeySet::fullAfter(DispatchKey::ADInplaceOrView);
  const FunctionSchema& schema = op.schema();
  checkViews(schema);
  if (ks.hasAny(kAutogradKeys)) return op.redispatchBoxed(ks & kBelow, stack);
  const Arguments args = collect(schema, *stack);
  for (const Tensor& t : args.written) check_inplace(t, false);
  {
    AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(ks & kBelow, stack);
  }
  for (const Tensor& t : args.written) increment_version(t);
  wrapReturns(schema, *stack, args, nullptr, {}, forbidden(schema));
}

// One library for each key, all filled alike.
struct Registrar {
  Registrar() {
    add(DispatchKey::AutogradOther);
    for (int b = 0; b < kNumBackends; ++b) add(autogradKeyOf(static_cast<BackendComponent>(b)));
  }
  void add(DispatchKey key) {
    libraries.emplace_back(Library::Kind::kImpl, "_", key);
    libraries.back().fallback(CppFunction::makeFromBoxedFunction<&autogradFallback<false>>());
    // A program's fallback for the key, a fallthrough for its device's Autograd for instance, takes its place.
    auto& impl = Dispatcher::singleton().implForHandles();
    MutexLock lock(impl.mutex);
    impl.fallbacks.markDefault(key);
  }
  std::vector<Library> libraries;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace

CppFunction autogradNotImplementedFallback() { return CppFunction::makeFromBoxedFunction<&autogradFallback<true>>(); }
CppFunction autogradNotImplementedInplaceOrViewFallback() {
  return CppFunction::makeFromBoxedFunction<&inplaceOrViewFallback>();
}

}  // namespace shunt::autograd
