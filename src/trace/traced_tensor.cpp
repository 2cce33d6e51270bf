#include "src/trace/traced_tensor.h"

#include <shunt/autograd/graph_tensor.h>

namespace shunt::trace_detail {
namespace {

DispatchKeySet wrapperKeys(const Tensor& inner) {
  constexpr DispatchKeySet kKeys{DispatchKey::Tracer};
  return inner.is_inference() ? kKeys : kKeys.add(DispatchKey::ADInplaceOrView);
}

}  // namespace

TracedTensor::TracedTensor(intrusive_ptr<detail::Recording> recording, Tensor inner, Graph::Value* value,
                           Storage storage)
    : TensorImpl(std::move(storage), wrapperKeys(inner), inner.dtype()),
      recording_(std::move(recording)),
      inner_(std::move(inner)),
      value_(value) {
  set_wrapped_number(inner_.unsafeGetTensorImpl()->is_wrapped_number());
  set_autograd_meta(std::make_unique<autograd::ForwardingMeta>(*this));
  follow();
}

void TracedTensor::follow() {
  if (inner_.dtype() != dtype()) set_storage(storage(), inner_.dtype());
  set_sizes_and_strides(inner_.sizes(), inner_.strides(), inner_.storage_offset());
}

void TracedTensor::release_resources() {
  TensorImpl::release_resources();
  inner_.reset();
  recording_.reset();
}

TracedTensor* tracedOf(const Tensor& t) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  return impl != nullptr && impl->key_set().has(Functionality::Tracer) ? dynamic_cast<TracedTensor*>(impl) : nullptr;
}

}  // namespace shunt::trace_detail
