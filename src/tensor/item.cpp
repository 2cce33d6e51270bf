// item(): reads the element of an ordinary tensor. Of a wrapper, an operator does, which its class or functionality
// handles; under a dispatch mode or in a trace, the same operator does of any tensor, so that the mode or trace sees
// it.
#include <shunt/core/library.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/wrapper_kind.h>

#include "src/tensor/no_numbers.h"

#include <cstring>

namespace shunt {
namespace {

void checkOneElement(const Tensor& t) {
  SHUNT_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar: item() of shape ",
              t.sizes(), " has no one number; select an element by its index, or reduce the tensor (sum(), mean())");
}

constexpr DispatchKeySet kAsksAnOperator = kWrapperKeys | DispatchKeySet::of(Functionality::PythonKernel);

Scalar read(const Tensor& t) {
  checkOneElement(t);
  if (t.is_meta())
    throw NoNumbersError(detail::str("item(): the tensor is on device ", t.device(), ", which has no numbers"));
  if (!t.is_cpu()) return read(t.detach().cpu());
  const void* p = t.unsafeGetTensorImpl()->data();
  return dispatchAllTypes(t.dtype(), "item", [&]<class T>(std::type_identity<T>) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return Scalar(v);
  });
}

// CompositeExplicit, since it does the work itself: a mode at kKernel is offered it.
SHUNT_LIBRARY_FRAGMENT(aten, m) {
  m.def("_local_scalar_dense(Tensor self) -> Scalar");
  m.impl("_local_scalar_dense", DispatchKey::CompositeExplicitAutograd, &read);
  m.impl("_local_scalar_dense", DispatchKey::Autograd, CppFunction::makeFallthrough());
}

}  // namespace

Scalar Tensor::item() const {
  // A level takes the call to what is on outside of it.
  constexpr DispatchKeySet kModes{DispatchKey::Python, DispatchKey::PythonKernel, DispatchKey::Tracer,
                                  DispatchKey::Batched};
  const DispatchKeySet under_a_mode = tls_included() & kModes;
  if (!(impl().key_set() | under_a_mode).hasAny(kAsksAnOperator)) [[likely]]
    return read(*this);
  checkOneElement(*this);
  static const auto op =
      Dispatcher::singleton().findSchemaOrThrow("aten::_local_scalar_dense", "").typed<Scalar(const Tensor&)>();
  return op.call(*this);
}

}  // namespace shunt
