// TensorGuard: what of a tensor besides its elements decides what operators do with it.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>
#include <vector>

namespace shunt_torch {

class TensorGuard {
 public:
  /// `tensor` is a Python object; it has to have a storage on the CPU. `history`: whether what autograd knows of it
  /// counts.
  TensorGuard(PyObject* tensor, bool history);
  bool holds(PyObject* tensor) const;
  /// Where its memory begins doesn't matter from now on.
  void allowOffset() { any_offset_ = true; }
  /// Its storage mustn't be smaller than it was, from now on.
  void needStorage() { least_bytes_ = bytes_; }
  /// What differs, for people: "sizes: expected [3, 4], got [3, 5]". Empty where holds() is true.
  std::string difference(PyObject* tensor) const;

 private:
  struct GradLayout {
    bool defined = false;
    c10::DispatchKeySet keys;
    at::ScalarType dtype = at::kFloat;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool requires_grad = false;
    bool holds(const at::Tensor& grad) const;
  };
  bool holdsGrad(const at::Tensor& t) const;
  PyTypeObject* type_;
  c10::DispatchKeySet keys_;
  at::ScalarType dtype_;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_;
  bool any_offset_ = false;
  size_t bytes_, least_bytes_ = 0;  // of its storage
  bool requires_grad_, is_leaf_, retains_grad_;
  std::optional<at::ScalarType> grad_dtype_;
  size_t hooks_;
  bool history_;
  GradLayout grad_;
};

/// Whether forward AD has given a tensor a tangent.
bool hasTangent(const at::Tensor& t);

/// Hooks on a tensor: its own, those of its accumulation, and those after it. Dicts of hooks that are empty, as
/// tensors have that were loaded, count nothing.
size_t hooksOf(const at::Tensor& t);

/// Which of the inputs are the same tensor, and which share a storage. Memory of two storages that overlaps is never
/// replayed: how far it overlaps isn't compared.
class SharingGuard {
 public:
  SharingGuard() = default;
  explicit SharingGuard(const std::vector<at::Tensor>& inputs);
  /// Whether the memory of two storages overlapped, so that holds() is never true.
  bool overlaps() const { return overlaps_; }
  /// Compared with the memory of the last call first: what is the same shares what it shared.
  bool holds(const std::vector<at::Tensor>& inputs) const;

 private:
  struct Range {
    const void* tensor;
    const void* storage;
    uintptr_t begin, end;
    bool operator==(const Range&) const = default;
  };
  static Range rangeOf(const at::Tensor& t);
  static std::vector<int32_t> patternOf(const std::vector<Range>& ranges);
  bool movesAlone(size_t i, const Range& range) const;
  std::vector<int32_t> pattern_;
  std::vector<bool> alone_;  // inputs that share with none
  bool overlaps_ = false;
  mutable std::vector<Range> last_;  // always of this pattern
};

}  // namespace shunt_torch
