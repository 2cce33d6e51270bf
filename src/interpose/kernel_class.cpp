// See Note [Kernel classes].
#include <shunt/interpose/kernel_class.h>

#include "src/interpose/handler_returns.h"
#include "src/interpose/kernel_class.h"
#include "src/tensor/tensor_block.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt {
namespace {

// Memory of the tensor that the class was put on, or none.
struct ClassStorage final : StorageImpl {
  ClassStorage(std::shared_ptr<KernelClass> of, Device device)
      : StorageImpl(DataPtr{}, size_t{0}, device, nullptr, false), of(std::move(of)) {}
  ClassStorage(std::shared_ptr<KernelClass> of, const Tensor& data)
      : StorageImpl(DataPtr{data.storage()->data(), nullptr, nullptr}, data.storage()->nbytes(), data.device(), nullptr,
                    false),
        of(std::move(of)),
        data(autograd::detached_alias(data)) {}

  const std::shared_ptr<KernelClass> of;
  const Tensor data;
};

const ClassStorage* classStorageOf(const Tensor& t) {
  const TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || !impl->key_set().has(DispatchKey::PythonKernel) || !impl->has_storage()) return nullptr;
  return dynamic_cast<const ClassStorage*>(impl->storage().get());
}

template <class F>
void forEachOfClass(const OperatorHandle& op, const Stack& stack, F&& f) {
  const size_t n = op.schema().arguments().size();
  for (size_t i = stack.size() - n; i < stack.size(); ++i)
    forEachTensor(stack[i], [&](const Tensor& t) {
      if (const ClassStorage* storage = classStorageOf(t)) f(storage->of);
    });
}

}  // namespace

KernelClass::~KernelClass() = default;
bool KernelClass::accepts(const OperatorHandle&, const Stack&) const { return true; }

Tensor make_class_tensor(std::shared_ptr<KernelClass> of, IntArrayRef sizes, IntArrayRef strides,
                         int64_t storage_offset, const TensorOptions& options) {
  SHUNT_CHECK(of != nullptr, "make_class_tensor: the class is null");
  detail::checkedNumel("make_class_tensor", sizes);
  SHUNT_CHECK(strides.empty() || strides.size() == sizes.size(), "make_class_tensor: got ", strides.size(),
              " strides for ", sizes.size(), " sizes");
  const Device device = options.device();
  const DispatchKeySet keys =
      (keySetFor(device) - DispatchKeySet::of(Functionality::Dense)).add(DispatchKey::PythonKernel);
  auto impl = make_intrusive<TensorImpl>(make_intrusive<ClassStorage>(std::move(of), device), keys, options.dtype());
  impl->set_sizes_contiguous(sizes);
  if (!strides.empty() || storage_offset != 0) {
    const std::vector<int64_t> its = strides.empty() ? impl->strides().vec() : strides.vec();
    impl->set_sizes_and_strides(sizes, its, storage_offset);
  }
  return Tensor(std::move(impl));
}

Tensor with_class(std::shared_ptr<KernelClass> of, const Tensor& data) {
  SHUNT_CHECK(of != nullptr, "with_class: the class is null");
  if (const char* why = whyNoData(data)) throw Error(detail::str("with_class: the tensor is ", why));
  const TensorImpl& from = *data.unsafeGetTensorImpl();
  auto impl = make_intrusive<TensorImpl>(make_intrusive<ClassStorage>(std::move(of), data),
                                         (from.key_set() - kAutogradKeys).add(DispatchKey::PythonKernel), from.dtype());
  impl->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
  impl->share_version_counter_of(from);
  return Tensor(std::move(impl));
}

Tensor without_class(const Tensor& tensor) {
  const ClassStorage* storage = classStorageOf(tensor);
  SHUNT_CHECK(storage != nullptr && storage->data.defined(),
              "without_class: the tensor isn't one that with_class() has made");
  const TensorImpl& from = *tensor.unsafeGetTensorImpl();
  Tensor plain = autograd::detached_alias(storage->data);
  if (plain.dtype() != from.dtype()) plain.unsafeGetTensorImpl()->set_storage(storage->data.storage(), from.dtype());
  plain.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
  return plain;
}

std::shared_ptr<KernelClass> kernel_class_of(const Tensor& tensor) {
  const ClassStorage* storage = classStorageOf(tensor);
  return storage == nullptr ? nullptr : storage->of;
}

bool hasKernelClass(const OperatorHandle& op, const Stack& stack) {
  bool any = false;
  forEachOfClass(op, stack, [&](const auto&) { any = true; });
  return any;
}

void handleByKernelClass(const OperatorHandle& op, Stack* stack) {
  std::shared_ptr<KernelClass> first;  // kept, whatever the handler does to the stack
  std::string names;
  forEachOfClass(op, *stack, [&](const std::shared_ptr<KernelClass>& of) {
    if (first != nullptr) return;
    if (of->accepts(op, *stack))
      first = of;
    else
      names += (names.empty() ? "" : ", ") + of->name();
  });
  SHUNT_CHECK(first != nullptr, "operator ", op.operator_name(), ": no class of its arguments takes this call: ", names,
              "; each has declined it (accepts)");
  const HandlerReturns returns(op, *stack);
  first->handle(op, stack);
  returns.check(*stack, *first);
}

}  // namespace shunt
