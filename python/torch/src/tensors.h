// What a recorder asks about tensors that PyTorch's Python interface doesn't say.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <vector>

namespace shunt_torch {

/// (storage, dtype, offset, sizes, strides, keys): two tensors with the same key are the same elements seen the same
/// way. The storage is an address; None where there is none (sparse tensors).
py::object keyOf(const at::Tensor& t);
/// Handles on the storage alone.
struct StorageHandle {
  c10::Storage storage;
  size_t uses() const { return storage.use_count(); }
};
/// Copies of tensors in copied storages: what shared a storage shares its copy.
std::vector<at::Tensor> copyInputs(const std::vector<at::Tensor>& inputs);
/// Whether the whole storages of two tensors have the same bytes; nans of the first's dtype are all the same.
bool sameStorageBytes(const at::Tensor& a, const at::Tensor& b);
/// Whether two tensors have the same dtype, sizes, strides and bits; nans are all the same.
bool sameBits(const at::Tensor& a, const at::Tensor& b);

/// Watches the grads of leaves.
class GradWatch {
 public:
  explicit GradWatch(std::vector<at::Tensor> leaves);
  /// (leaf, grad or None) for each whose grad is another tensor than at the last look.
  py::list changes();

 private:
  std::vector<at::Tensor> leaves_;
  std::vector<at::Tensor> seen_;
};

}  // namespace shunt_torch
