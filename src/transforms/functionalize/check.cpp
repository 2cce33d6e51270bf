// The one place through which Functionalize calls operators that write nothing, and the proof that they don't.
#include "src/core/alias_sets.h"
#include "src/transforms/functionalize/functional_tensor.h"
#include "src/transforms/functionalize/watch.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/transforms/functionalize.h>

#include <cstring>
#include <memory>

namespace shunt {
namespace functional {
namespace {

constinit thread_local int64_t checking SHUNT_TLS_MODEL = 0;
constinit thread_local int64_t checked SHUNT_TLS_MODEL = 0;

/// On the heap: a program that loads libshunt has little room for thread-locals.
ProgramStorages& program() {
  static thread_local const auto storages = std::make_unique<ProgramStorages>();
  return *storages;
}

/// What an operator could change of a tensor that it is given.
struct Snapshot {
  explicit Snapshot(const Tensor& t) : tensor(t) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    if (!impl.is_inference()) version = impl.version().current();
    if (impl.has_storage() && impl.storage()->data() != nullptr && impl.device().is_cpu())
      bytes.assign(impl.storage()->data(), impl.storage()->data() + impl.storage()->nbytes());
    sizes = impl.sizes().vec();
    strides = impl.strides().vec();
  }
  /// What differs now, or null.
  const char* changed() const {
    const TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (!impl.is_inference() && version != impl.version().current()) return "version";
    if (!bytes.empty() && (bytes.size() != impl.storage()->nbytes() ||
                           std::memcmp(bytes.data(), impl.storage()->data(), bytes.size()) != 0))
      return "data";
    return impl.sizes() == IntArrayRef(sizes) && impl.strides() == IntArrayRef(strides) ? nullptr : "geometry";
  }
  Tensor tensor;
  uint32_t version = 0;
  std::vector<std::byte> bytes;
  std::vector<int64_t> sizes, strides;
};

void callChecked(const OperatorHandle& op, Stack& stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    SHUNT_CHECK(!arguments[i].is_write() || !detail::isGiven(stack[i]), "Functionalize called operator ",
                op.operator_name(), ", which writes to its arguments");
  std::vector<Snapshot> before;
  forEachTensor(stack, [&](const Tensor& t) { before.emplace_back(t); });
  forEachTensor(stack, [](const Tensor& t) { program().add(t); });
  {
    Watch watch(op, program());
    const DispatchModeGuard guard(watch);
    op.callBoxed(&stack);
  }
  forEachTensor(stack, [](const Tensor& t) { program().add(t); });
  ++checked;
  for (const Snapshot& s : before)
    if (const char* what = s.changed())
      throw Error(detail::str("operator ", op.operator_name(), " changed the ", what, " of an argument, ",
                              s.tensor.dtype(), IntArrayRef(s.sizes),
                              ", though its schema says that it writes nothing"));
}

}  // namespace

void callBelow(const OperatorHandle& op, Stack& stack) {
  if (checking != 0) [[unlikely]]
    return callChecked(op, stack);
  op.callBoxed(&stack);
}

}  // namespace functional

FunctionalizeCheckGuard::FunctionalizeCheckGuard() : first_(functional::checked) { ++functional::checking; }
FunctionalizeCheckGuard::~FunctionalizeCheckGuard() {
  if (--functional::checking == 0) functional::program().clear();
}
int64_t FunctionalizeCheckGuard::calls() const { return functional::checked - first_; }

}  // namespace shunt
