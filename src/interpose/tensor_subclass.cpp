// See Note [Tensor subclasses].
#include <shunt/interpose/tensor_subclass.h>

#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/library.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>
#include <shunt/transforms/functionalize.h>

#include "src/autograd/plain_grad.h"
#include "src/base/immortal.h"
#include "src/core/alias_sets.h"
#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/subclass_calls.h"
#include "src/interpose/handler_returns.h"
#include "src/tensor/printing.h"
#include "src/transforms/vmap/levels.h"

namespace shunt {
namespace {

// Far more than wrappers are ever nested, far less than what a thread's stack holds.
constexpr int kDeepest = 100;
constinit thread_local int depth SHUNT_TLS_MODEL = 0;

const Tensor& checkedInner(const Tensor& inner) {
  SHUNT_CHECK(inner.defined(), "TensorSubclass: the inner tensor is undefined; expected the tensor to wrap");
  return inner;
}

/// Has no bytes, and knows in what level of vmap and grad the wrapper was made.
struct NoData final : StorageImpl {
  explicit NoData(Device device) : StorageImpl(DataPtr{}, size_t{0}, device, nullptr, false) {}
  const uint64_t level = levels::innermostNumber();
};

Storage noData(Device device) { return make_intrusive<NoData>(device); }

/// Whether the wrapper was made in a level in which the innermost one runs. The call is passed on there, and the
/// levels between have their turn.
bool isFromFurtherOut(const TensorSubclass& wrapper) {
  if (levels::innermost() == nullptr) [[likely]]
    return false;
  const auto* storage = dynamic_cast<const NoData*>(wrapper.storage().get());
  return storage != nullptr && levels::isFurtherOut(storage->level);
}

DispatchKeySet wrapperKeys(bool is_inference) {
  constexpr DispatchKeySet kKeys{DispatchKey::Python, DispatchKey::PythonTLSSnapshot};
  return is_inference ? kKeys : kKeys.add(DispatchKey::ADInplaceOrView);
}

// f(argument, tensor, wrapper) for every wrapper among the arguments, in order.
template <class F>
void forEachWrapper(const OperatorHandle& op, const Stack& stack, F&& f) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    forEachTensor(stack[stack.size() - arguments.size() + i], [&](const Tensor& t) {
      if (auto* wrapper = wrapper_cast<TensorSubclass>(t)) f(arguments[i], t, *wrapper);
    });
}

// "self is a LoggingTensor, other is a MaskedTensor"
std::string wrappersOf(const OperatorHandle& op, const Stack& stack) {
  std::string out;
  forEachWrapper(op, stack, [&](const Argument& a, const Tensor&, const TensorSubclass& wrapper) {
    out += detail::str(out.empty() ? "" : ", ", a.name, " is a ", wrapper.name());
  });
  return out;
}

struct Deeper {
  Deeper(const OperatorHandle& op, const TensorSubclass& wrapper) {
    SHUNT_CHECK(depth < kDeepest, "operator ", op.operator_name(), ": the handler of ", wrapper.name(), " is ",
                kDeepest,
                " calls deep in handlers of wrapper tensors: it seems to call operators on the wrappers that it was "
                "given; unwrap "
                "them first");
    ++depth;
  }
  ~Deeper() { --depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

void belowPython(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  throw Error(detail::str(
      "operator ", op.operator_name(), ": a wrapper tensor got past its class (", wrappersOf(op, *stack),
      "): the key Python is excluded on this thread, or was taken away by a redispatch. Kernels can't use a wrapper, "
      "which has no data: unwrap it first"));
}

/// A call whose wrappers are all of levels further out, on its way there.
void passOn(const OperatorHandle& op, Stack* stack) {
  const uint64_t keys = boxed::prepare(op, *stack);
  const detail::LocalState& tls = detail::tls_state;
  const auto effective = DispatchKeySet::fromRaw((keys | tls.included) & ~tls.excluded);
  op.redispatchBoxed(effective & DispatchKeySet::fullAfter(DispatchKey::PythonTLSSnapshot), stack);
}

}  // namespace

bool handleBySubclass(const OperatorHandle& op, Stack* stack) {
  Tensor keeps;  // the handler's own object, whatever it does to the stack
  TensorSubclass* first = nullptr;
  bool any = false, passed_on = false;
  forEachWrapper(op, *stack, [&](const Argument&, const Tensor& t, TensorSubclass& wrapper) {
    if (isFromFurtherOut(wrapper)) {
      passed_on = true;
      return;
    }
    any = true;
    if (first != nullptr || !wrapper.accepts(op, *stack)) return;
    first = &wrapper;
    keeps = t;
  });
  if (!any && passed_on) passOn(op, stack);
  if (!any) return passed_on;
  SHUNT_CHECK(first != nullptr, "operator ", op.operator_name(),
              ": no class of its wrapper arguments takes this call: ", wrappersOf(op, *stack),
              "; each has declined it (accepts)");
  const HandlerReturns returns(op, *stack);
  const Deeper deeper(op, *first);
  first->handle(op, stack);
  returns.check(*stack, *first);
  return true;
}

TensorSubclass::TensorSubclass(Tensor inner)
    : TensorImpl(noData(checkedInner(inner).device()), wrapperKeys(inner.is_inference()), inner.dtype()),
      inner_(std::move(inner)),
      looks_like_inner_(true) {
  follow_inner();
  set_autograd_meta(std::make_unique<autograd::ForwardingMeta>(*this));
}

TensorSubclass::TensorSubclass(IntArrayRef sizes, const TensorOptions& options, Tensor inner)
    : TensorImpl(noData(options.device()),
                 wrapperKeys(inner.defined() ? inner.is_inference() : InferenceMode::is_enabled()), options.dtype()),
      inner_(std::move(inner)),
      looks_like_inner_(false) {
  set_sizes_contiguous(sizes);
  if (inner_.defined()) set_autograd_meta(std::make_unique<autograd::ForwardingMeta>(*this));
}

TensorSubclass::~TensorSubclass() = default;

void TensorSubclass::release_resources() {
  TensorImpl::release_resources();
  inner_.reset();
}

bool TensorSubclass::accepts(const OperatorHandle&, const Stack&) const { return true; }

std::string TensorSubclass::name() const { return autograd::nodeClassName(typeid(*this)); }

std::string TensorSubclass::toString() const {
  if (inner_.defined()) return name() + "(" + inner_.toString() + ")";
  return detail::str(name(), "(size=", sizes(), ", dtype=", dtype(), ", device=", device(), ")");
}

void TensorSubclass::follow_inner() {
  if (!looks_like_inner_) return;
  if (inner_.dtype() != dtype()) set_storage(storage(), inner_.dtype());
  set_sizes_and_strides(inner_.sizes(), inner_.strides(), inner_.storage_offset());
}

void TensorSubclass::alias_with(const TensorSubclass& base) {
  set_storage(base.storage(), dtype());
  share_version_counter_of(base);
}

namespace detail {
namespace {

/// An argument of the class, with what it held when the operator was called.
struct Unwrapped {
  Tensor wrapper;
  Tensor inner;
  bool written;
};

using Mine = FunctionRef<TensorSubclass*(const Tensor&)>;

std::vector<Unwrapped> unwrapArguments(const OperatorHandle& op, Stack& stack, Mine mine) {
  std::vector<Unwrapped> found;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    IValue& value = stack[stack.size() - arguments.size() + i];
    value = mapTensors(value, [&](const Tensor& t) {
      const TensorSubclass* wrapper = mine(t);
      if (wrapper == nullptr) return t;
      SHUNT_CHECK(wrapper->inner().defined(), "operator ", op.operator_name(), ": call_unwrapped: argument ",
                  arguments[i].name, " is a ", wrapper->name(),
                  " without an inner tensor; its class has to handle the operator itself");
      found.push_back({t, wrapper->inner(), arguments[i].is_write()});
      return wrapper->inner();
    });
  }
  return found;
}

/// Of a result that isn't an argument that was written.
Tensor wrapReturn(const Tensor& result, const std::vector<Unwrapped>& arguments, Mine mine,
                  FunctionRef<Tensor(const Tensor&)> wrap) {
  for (const Unwrapped& a : arguments)
    if (a.inner.is_same(result) && !a.written) return a.wrapper;
  const Tensor wrapped = wrap(result);
  TensorSubclass* wrapper = mine(wrapped);
  for (const Unwrapped& a : arguments)
    if (wrapper != nullptr && a.inner.is_alias_of(result)) {
      wrapper->alias_with(*mine(a.wrapper));
      break;
    }
  return wrapped;
}

}  // namespace

void callUnwrapped(const OperatorHandle& op, Stack* stack, Mine mine, FunctionRef<Tensor(const Tensor&)> wrap) {
  const FunctionSchema& schema = op.schema();
  const auto lastOf = [&](size_t n) { return Stack(stack->end() - static_cast<ptrdiff_t>(n), stack->end()); };
  const bool writes = schema.is_mutable();
  const Stack given = writes ? lastOf(schema.arguments().size()) : Stack();
  const std::vector<Unwrapped> arguments = unwrapArguments(op, *stack, mine);
  const Stack inner = writes ? lastOf(schema.arguments().size()) : Stack();
  op.callBoxed(stack);
  for (const Unwrapped& a : arguments)
    if (a.written) mine(a.wrapper)->follow_inner();
  const size_t n = schema.returns().size();
  std::vector<std::optional<size_t>> returned(n);
  if (writes) returned = returnedArguments(schema, inner, lastOf(n));
  for (size_t i = 0; i < n; ++i) {
    IValue& value = (*stack)[stack->size() - n + i];
    value = returned[i] ? given[*returned[i]]
                        : mapTensors(value, [&](const Tensor& t) { return wrapReturn(t, arguments, mine, wrap); });
  }
}

std::string wrapperToString(const Tensor& t) {
  const auto* wrapper = wrapper_cast<TensorSubclass>(t);
  return wrapper != nullptr ? wrapper->toString() : "";
}

}  // namespace detail

Tensor autograd::heldBy(const Tensor& wrapper) {
  if (is_functional(wrapper)) return from_functional(wrapper);
  const Tensor* inner = wrapper.unsafeGetTensorImpl()->graph_tensor();
  return inner == nullptr ? Tensor() : *inner;
}

namespace {

struct Registrar {
  Registrar() : library(Library::Kind::kImpl, "_", DispatchKey::PythonTLSSnapshot) {
    library.fallback(CppFunction::makeFromBoxedFunction<&belowPython>());
  }
  Library library;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt
