#include "tensors.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <cstring>
#include <unordered_map>

namespace shunt_torch {
namespace {

py::tuple tupleOf(c10::IntArrayRef values) {
  py::tuple out(values.size());
  for (size_t i = 0; i < values.size(); ++i) out[i] = py::int_(values[i]);
  return out;
}

}  // namespace

py::object keyOf(const at::Tensor& t) {
  if (!t.has_storage() || t.is_sparse() || t.is_mkldnn() || t.layout() != at::kStrided) return py::none();
  const auto storage = reinterpret_cast<uintptr_t>(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
  return py::make_tuple(storage, static_cast<int>(t.scalar_type()), t.storage_offset(), tupleOf(t.sizes()),
                        tupleOf(t.strides()), t.is_conj(), t.is_neg());
}

std::vector<at::Tensor> copyInputs(const std::vector<at::Tensor>& inputs) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::unordered_map<const void*, c10::Storage> copies;
  std::vector<at::Tensor> out;
  for (const at::Tensor& t : inputs) {
    const c10::Storage& storage = t.storage();
    const auto [it, is_new] = copies.try_emplace(storage.unsafeGetStorageImpl());
    if (is_new) {
      const size_t bytes = storage.nbytes();
      it->second = c10::Storage(c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(), bytes,
          storage.allocator() != nullptr ? storage.allocator() : c10::GetAllocator(at::kCPU), storage.resizable()));
      if (bytes != 0) std::memcpy(it->second.mutable_data(), storage.data(), bytes);
    }
    c10::intrusive_ptr<c10::TensorImpl> impl = t.unsafeGetTensorImpl()->shallow_copy_and_detach(
        c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true);
    impl->set_storage_keep_dtype(it->second);
    out.emplace_back(std::move(impl));
  }
  return out;
}

namespace {

// Bytes, except that any nan is any other: which of two nans an operator passes on depends on the order of its operands
// in the machine's code, in PyTorch's kernels too.
bool sameElements(const void* a, const void* b, size_t bytes, at::ScalarType dtype) {
  if (bytes == 0 || std::memcmp(a, b, bytes) == 0) return true;
  if (!at::isFloatingType(dtype) && !at::isComplexType(dtype)) return false;
  const at::ScalarType part = at::toRealValueType(dtype);
  const auto n = static_cast<int64_t>(bytes / c10::elementSize(part));
  const auto tensorOf = [&](const void* p) {
    return at::from_blob(const_cast<void*>(p), {n}, at::TensorOptions().dtype(part));
  };
  const at::Tensor x = tensorOf(a), y = tensorOf(b);
  const at::ScalarType bits = c10::elementSize(part) == 8   ? at::kLong
                              : c10::elementSize(part) == 4 ? at::kInt
                                                            : at::kShort;
  return x.view(bits).eq(y.view(bits)).logical_or_(x.isnan().logical_and_(y.isnan())).all().item<bool>();
}

}  // namespace

bool sameStorageBytes(const at::Tensor& a, const at::Tensor& b) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::Storage &x = a.storage(), &y = b.storage();
  return x.nbytes() == y.nbytes() && sameElements(x.data(), y.data(), x.nbytes(), a.scalar_type());
}

bool sameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides() ||
      a.is_conj() != b.is_conj() || a.is_neg() != b.is_neg())
    return false;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  // Tensors of zeros that autograd makes have no memory.
  const auto withMemory = [](const at::Tensor& t) {
    return t._is_zerotensor() ? at::zeros(t.sizes(), t.options()) : t.contiguous();
  };
  const at::Tensor x = withMemory(a), y = withMemory(b);
  return sameElements(x.const_data_ptr(), y.const_data_ptr(), x.nbytes(), x.scalar_type());
}

GradWatch::GradWatch(std::vector<at::Tensor> leaves) : leaves_(std::move(leaves)) {
  for (const at::Tensor& t : leaves_) seen_.push_back(t.unsafeGetTensorImpl()->grad());
}

py::list GradWatch::changes() {
  py::list out;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const at::Tensor& grad = leaves_[i].unsafeGetTensorImpl()->grad();
    if (grad.unsafeGetTensorImpl() == seen_[i].unsafeGetTensorImpl()) continue;
    seen_[i] = grad;
    out.append(
        py::make_tuple(i, grad.defined() ? py::reinterpret_steal<py::object>(THPVariable_Wrap(grad)) : py::none()));
  }
  return out;
}

}  // namespace shunt_torch
