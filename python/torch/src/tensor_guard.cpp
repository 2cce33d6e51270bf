#include "tensor_guard.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace shunt_torch {
namespace {

const at::Tensor& unpack(PyObject* o) { return THPVariable_Unpack(o); }

template <class T>
void compare(std::ostringstream& out, const char* what, const T& expected, const T& got) {
  if (expected == got || out.tellp() > 0) return;
  out << what << ": expected " << expected << ", got " << got;
}

}  // namespace

size_t hooksOf(const at::Tensor& t) {
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  if (meta == nullptr) return 0;
  size_t n = meta->hooks_.size() + (meta->post_acc_grad_hooks_ != nullptr);
  if (const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(t))
    n += accumulator->pre_hooks().size() + accumulator->post_hooks().size() + accumulator->tensor_pre_hooks().size() +
         (accumulator->tensor_post_acc_grad_hooks() != nullptr);
  return n;
}

TensorGuard::TensorGuard(PyObject* o, bool history) : type_(Py_TYPE(o)), history_(history) {
  const at::Tensor& t = unpack(o);
  keys_ = t.key_set();
  dtype_ = t.scalar_type();
  sizes_ = t.sizes().vec();
  strides_ = t.strides().vec();
  offset_ = t.storage_offset();
  requires_grad_ = t.requires_grad();
  is_leaf_ = t.is_leaf();
  retains_grad_ = t.retains_grad();
  hooks_ = hooksOf(t);
  if (const at::Tensor& grad = t.grad(); is_leaf_ && grad.defined())
    grad_ = {true, grad.key_set(), grad.scalar_type(), grad.sizes().vec(), grad.strides().vec(), grad.requires_grad()};
}

bool TensorGuard::GradLayout::holds(const at::Tensor& g) const {
  if (!g.defined() || !defined) return g.defined() == defined;
  return g.key_set() == keys && g.scalar_type() == dtype && g.sizes().equals(sizes) && g.strides().equals(strides) &&
         g.requires_grad() == requires_grad;
}

bool TensorGuard::holdsGrad(const at::Tensor& t) const {
  // Reading the grad of a tensor that is no leaf warns, and nothing is recorded that does.
  if (!is_leaf_) return true;
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  return meta == nullptr ? !grad_.defined : grad_.holds(meta->grad_);
}

bool TensorGuard::holds(PyObject* o) const {
  if (Py_TYPE(o) != type_) return false;
  const at::Tensor& t = unpack(o);
  if (t.key_set() != keys_ || t.scalar_type() != dtype_ || !t.sizes().equals(sizes_) || !t.strides().equals(strides_) ||
      t.storage_offset() != offset_)
    return false;
  if (!history_) return true;
  if (torch::autograd::impl::get_autograd_meta(t) == nullptr)
    return !requires_grad_ && is_leaf_ && !retains_grad_ && hooks_ == 0 && !grad_.defined;
  return t.requires_grad() == requires_grad_ && t.is_leaf() == is_leaf_ && t.retains_grad() == retains_grad_ &&
         hooksOf(t) == hooks_ && holdsGrad(t);
}

std::string TensorGuard::difference(PyObject* o) const {
  if (Py_TYPE(o) != type_) return std::string("type: expected ") + type_->tp_name + ", got " + Py_TYPE(o)->tp_name;
  const at::Tensor& t = unpack(o);
  std::ostringstream out;
  out << std::boolalpha;
  compare(out, "dtype", dtype_, t.scalar_type());
  compare(out, "sizes", c10::IntArrayRef(sizes_), t.sizes());
  compare(out, "strides", c10::IntArrayRef(strides_), t.strides());
  compare(out, "storage offset", offset_, t.storage_offset());
  compare(out, "keys", keys_, t.key_set());
  if (!history_) return out.str();
  compare(out, "requires_grad", requires_grad_, t.requires_grad());
  compare(out, "is_leaf", is_leaf_, t.is_leaf());
  compare(out, "retains_grad", retains_grad_, t.retains_grad());
  compare(out, "hooks", hooks_, hooksOf(t));
  if (out.tellp() == 0 && !holdsGrad(t))
    out << "grad: expected " << (grad_.defined ? "a tensor" : "None") << ", got "
        << (t.grad().defined() ? (grad_.defined ? "one of another layout" : "a tensor") : "None");
  return out.str();
}

SharingGuard::SharingGuard(const std::vector<at::Tensor>& inputs) : last_(rangesOf(inputs)) {
  pattern_ = patternOf(last_);
}

std::vector<SharingGuard::Range> SharingGuard::rangesOf(const std::vector<at::Tensor>& inputs) {
  std::vector<Range> out;
  out.reserve(inputs.size());
  for (const at::Tensor& t : inputs) {
    const c10::StorageImpl* const s = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
    const auto begin = reinterpret_cast<uintptr_t>(s->data());
    out.push_back({s, begin, begin + s->nbytes()});
  }
  return out;
}

// Each input's first partner. Memory of two storages that overlaps counts as shared, which is told apart by the sign.
std::vector<int32_t> SharingGuard::patternOf(const std::vector<Range>& ranges) {
  std::vector<int32_t> order(ranges.size()), out(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const Range &x = ranges[a], &y = ranges[b];
    return std::tie(x.begin, x.storage, a) < std::tie(y.begin, y.storage, b);
  });
  uintptr_t end = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int32_t here = order[i], before = i == 0 ? here : order[i - 1];
    const bool same = i != 0 && ranges[here].storage == ranges[before].storage;
    const bool overlaps = !same && i != 0 && ranges[here].begin < end && ranges[here].begin != ranges[here].end;
    out[here] = same ? out[before] : overlaps ? -1 - here : here;
    end = std::max(end, ranges[here].end);
  }
  return out;
}

bool SharingGuard::holds(const std::vector<at::Tensor>& inputs) const {
  bool same = inputs.size() == last_.size();
  for (size_t i = 0; same && i < inputs.size(); ++i)
    same = inputs[i].unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() == last_[i].storage;
  if (same) return true;
  std::vector<Range> ranges = rangesOf(inputs);
  if (patternOf(ranges) != pattern_) return false;
  last_ = std::move(ranges);
  return true;
}

}  // namespace shunt_torch
