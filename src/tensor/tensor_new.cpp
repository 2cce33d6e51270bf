#include <shunt/tensor/tensor_new.h>

#include <shunt/core/error.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <ostream>

#include "src/tensor/active_trace.h"

namespace shunt {
namespace detail {

namespace {
std::string spaced(IntArrayRef numbers) {
  std::string text;
  for (const int64_t n : numbers) text += str(text.empty() ? "" : " ", n);
  return text;
}
}  // namespace

TensorData::TensorData(std::initializer_list<TensorData> list)
    : sizes_{static_cast<int64_t>(list.size())}, list_(list) {
  if (list.size() == 0) return;
  const TensorData& first = *list.begin();
  sizes_.insert(sizes_.end(), first.sizes_.begin(), first.sizes_.end());
  dtype_ = first.dtype_;
  for (const TensorData& item : list) {
    SHUNT_CHECK(item.sizes_ == first.sizes_, "Expected all sub-lists to have sizes: ", spaced(first.sizes()), " (e.g. ",
                first, "), but got sub-list ", item, " with sizes: ", spaced(item.sizes()));
    SHUNT_CHECK(item.dtype_ == first.dtype_, "Expected all elements of the tensor to have the same scalar type: ",
                first.dtype_.value_or(ScalarType::Undefined),
                ", but got element of scalar type: ", item.dtype_.value_or(ScalarType::Undefined));
  }
}

void TensorData::throwComplex() { throw NotImplementedError("tensor(): there are no complex numbers in Shunt"); }

const Scalar& TensorData::scalar() const {
  SHUNT_CHECK(is_scalar(),
              "Can only call `scalar()` on a TensorDataContainer that has `is_scalar() == true`: this one is a list");
  return scalar_;
}

std::initializer_list<TensorData> TensorData::init_list() const {
  SHUNT_CHECK(is_init_list(),
              "Can only call `init_list()` on a TensorDataContainer that has `is_init_list() == true`: this one is ",
              is_scalar() ? "a number" : "an array");
  return list_;
}

Tensor TensorData::tensor() const {
  SHUNT_CHECK(is_tensor(),
              "Can only call `tensor()` on a TensorDataContainer that has `is_tensor() == true`: this one is ",
              is_scalar() ? "a number" : "a list");
  return shunt::tensor(*this);
}

std::ostream& operator<<(std::ostream& out, const TensorData& data) {
  if (data.is_scalar()) return out << data.scalar_;
  out << "{";
  const char* between = "";
  if (data.is_tensor())
    dispatchAllTypes(*data.dtype_, "tensor", [&]<class T>(std::type_identity<T>) {
      for (int64_t i = 0; i < data.sizes_[0]; ++i, between = ", ")
        out << between << Scalar(static_cast<const T*>(data.array_)[i]);
    });
  for (const TensorData& item : data.list_) {
    out << between << item;
    between = ", ";
  }
  return out << "}";
}

ScalarType TensorData::inferredType() const {
  if (!dtype_ || *dtype_ == kFloat || *dtype_ == kDouble) return get_default_dtype();
  return *dtype_ == kInt ? kLong : *dtype_;
}

template <class T>
T* TensorData::writeValues(T* out) const {
  if (array_ != nullptr)
    return dispatchAllTypes(*dtype_, "tensor", [&]<class From>(std::type_identity<From>) {
      const From* values = static_cast<const From*>(array_);
      for (int64_t i = 0; i < sizes_[0]; ++i) *out++ = Scalar(values[i]).to<T>();
      return out;
    });
  if (sizes_.empty()) {
    *out = scalar_.to<T>();
    return out + 1;
  }
  for (const TensorData& item : list_) out = item.writeValues(out);
  return out;
}

void TensorData::writeTo(const Tensor& t) const {
  if (t.numel() == 0) return;
  dispatchAllTypes(t.dtype(), "tensor", [&]<class T>(std::type_identity<T>) {
    writeValues(static_cast<T*>(static_cast<void*>(t.unsafeGetTensorImpl()->data())));
  });
}

}  // namespace detail

Tensor tensor(const detail::TensorData& data, const TensorOptions& options) {
  SHUNT_CHECK(options.layout() == kStrided, "tensor(): layout ", options.layout(),
              " is not supported: only Strided tensors exist here");
  SHUNT_CHECK(
      !options.pinned_memory_opt().value_or(false),
      "tensor(): pin_memory=true needs an accelerator: Cannot access accelerator device when none is available.");
  const ScalarType dtype = options.dtype_opt().value_or(data.inferredType());
  if (tls_is_included(DispatchKey::Fake) && activeTrace() == nullptr)
      [[unlikely]]  // a FakeTensorMode: no values are kept
    return empty(data.sizes(), TensorOptions(dtype).device(options.device()).requires_grad(options.requires_grad()));
  Tensor result(detail::makeCpuTensor(data.sizes(), {}, dtype));
  data.writeTo(result);
  // A graph copies the numbers whenever it runs: they may be written to. Who only notes a function's operators is to
  // see the same one. In a function that grad differentiates it takes an operator to make a tensor of that, which may
  // be written with others.
  if (tls_is_included(DispatchKey::Tracer) || tls_is_included(DispatchKey::Batched)) [[unlikely]]
    result = result.clone();
  // A FunctionalizeGuard: the operators find out what a factory makes here, a functional tensor or in a backward
  // formula a plain one.
  if (tls_is_included(DispatchKey::Functionalize)) [[unlikely]]
    result = empty(data.sizes(), TensorOptions(dtype).device(options.device())).copy_(result);
  if (!options.device().is_cpu()) result = result.to(TensorOptions(options.device()));
  if (options.requires_grad()) result.set_requires_grad(true);
  return result;
}

}  // namespace shunt
