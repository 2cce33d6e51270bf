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
  if (PyObject* const object = t.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj(); n != 0 && object != nullptr) {
    // Those that Python has registered are in dicts, each of which is one of the hooks.
    const auto* const of_python = reinterpret_cast<THPVariable*>(object);
    for (PyObject* const dict : {of_python->backward_hooks, of_python->post_accumulate_grad_hooks})
      if (dict != nullptr && PyDict_Check(dict)) n += static_cast<size_t>(PyDict_GET_SIZE(dict)) - 1;
  }
  if (const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(t))
    n += accumulator->pre_hooks().size() + accumulator->post_hooks().size();
  return n;
}

bool hasTangent(const at::Tensor& t) {
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  return meta != nullptr && meta->fw_grad_ != nullptr && !meta->fw_grad_->empty();
}

TensorGuard::TensorGuard(PyObject* o, bool history) : type_(Py_TYPE(o)), history_(history) {
  const at::Tensor& t = unpack(o);
  keys_ = t.key_set();
  dtype_ = t.scalar_type();
  sizes_ = t.sizes().vec();
  strides_ = t.strides().vec();
  offset_ = t.storage_offset();
  bytes_ = t.storage().nbytes();
  requires_grad_ = t.requires_grad();
  is_leaf_ = t.is_leaf();
  retains_grad_ = t.retains_grad();
  hooks_ = hooksOf(t);
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  if (meta == nullptr) return;
  grad_dtype_ = meta->grad_dtype_;
  if (const at::Tensor& grad = meta->grad_; grad.defined())
    grad_ = {true,
             grad.key_set(),
             grad.scalar_type(),
             grad.sizes().vec(),
             grad.strides().vec(),
             grad.storage_offset(),
             grad.requires_grad()};
}

bool TensorGuard::GradLayout::holds(const at::Tensor& g) const {
  if (!g.defined() || !defined) return g.defined() == defined;
  return g.key_set() == keys && g.scalar_type() == dtype && g.sizes().equals(sizes) && g.strides().equals(strides) &&
         g.storage_offset() == offset && g.requires_grad() == requires_grad;
}

bool TensorGuard::holdsGrad(const at::Tensor& t) const {
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  return meta == nullptr ? !grad_.defined : grad_.holds(meta->grad_);
}

bool TensorGuard::holds(PyObject* o) const {
  if (Py_TYPE(o) != type_) return false;
  const at::Tensor& t = unpack(o);
  if (t.key_set() != keys_ || t.scalar_type() != dtype_ || !t.sizes().equals(sizes_) || !t.strides().equals(strides_) ||
      (t.storage_offset() != offset_ && !any_offset_) || (least_bytes_ != 0 && t.storage().nbytes() < least_bytes_))
    return false;
  if (!history_) return true;
  const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(t);
  if (meta == nullptr)
    return !requires_grad_ && is_leaf_ && !retains_grad_ && !grad_dtype_ && hooks_ == 0 && !grad_.defined;
  return t.requires_grad() == requires_grad_ && t.is_leaf() == is_leaf_ && t.retains_grad() == retains_grad_ &&
         meta->grad_dtype_ == grad_dtype_ && !hasTangent(t) && hooksOf(t) == hooks_ && holdsGrad(t);
}

std::string TensorGuard::difference(PyObject* o) const {
  if (Py_TYPE(o) != type_) return std::string("type: expected ") + type_->tp_name + ", got " + Py_TYPE(o)->tp_name;
  const at::Tensor& t = unpack(o);
  std::ostringstream out;
  out << std::boolalpha;
  compare(out, "dtype", dtype_, t.scalar_type());
  compare(out, "sizes", c10::IntArrayRef(sizes_), t.sizes());
  compare(out, "strides", c10::IntArrayRef(strides_), t.strides());
  if (!any_offset_) compare(out, "storage offset", offset_, t.storage_offset());
  if (t.storage().nbytes() < least_bytes_) compare(out, "bytes of its storage", least_bytes_, t.storage().nbytes());
  compare(out, "keys", keys_, t.key_set());
  if (!history_) return out.str();
  compare(out, "requires_grad", requires_grad_, t.requires_grad());
  compare(out, "is_leaf", is_leaf_, t.is_leaf());
  compare(out, "retains_grad", retains_grad_, t.retains_grad());
  compare(out, "hooks", hooks_, hooksOf(t));
  if (out.tellp() == 0 && hasTangent(t)) out << "it has a tangent of forward AD";
  if (out.tellp() == 0 && !holdsGrad(t))
    out << "grad: expected " << (grad_.defined ? "a tensor" : "None") << ", got "
        << (t.unsafeGetTensorImpl()->grad().defined() ? (grad_.defined ? "one of another layout" : "a tensor")
                                                      : "None");
  if (out.tellp() == 0 && !holds(o)) out << "grad_dtype is another one";
  return out.str();
}

SharingGuard::SharingGuard(const std::vector<at::Tensor>& inputs) {
  for (const at::Tensor& t : inputs) last_.push_back(rangeOf(t));
  pattern_ = patternOf(last_);
  overlaps_ = std::find(pattern_.begin(), pattern_.end(), -1) != pattern_.end();
  alone_.assign(inputs.size(), true);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto first = static_cast<size_t>(pattern_[i]); !overlaps_ && first != i)
      alone_[i] = alone_[first] = false;
}

SharingGuard::Range SharingGuard::rangeOf(const at::Tensor& t) {
  const c10::StorageImpl* const s = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  const auto begin = reinterpret_cast<uintptr_t>(s->data());
  return {t.unsafeGetTensorImpl(), s, begin, begin + s->nbytes()};
}

// For each input the first one on its storage, then for each the first that is the same tensor; -1 for what overlaps.
std::vector<int32_t> SharingGuard::patternOf(const std::vector<Range>& ranges) {
  const size_t n = ranges.size();
  std::vector<int32_t> order(n), out(2 * n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const Range &x = ranges[a], &y = ranges[b];
    return std::tie(x.begin, x.storage, x.tensor, a) < std::tie(y.begin, y.storage, y.tensor, b);
  });
  uintptr_t end = 0;
  for (size_t first = 0; first < n;) {
    const Range& range = ranges[order[first]];
    size_t last = first;
    int32_t on_storage = order[first], same = order[first];
    for (; last < n && ranges[order[last]].storage == range.storage; ++last) {
      const int32_t here = order[last];
      if (last != first && ranges[here].tensor != ranges[order[last - 1]].tensor) same = here;
      on_storage = std::min(on_storage, here);
      out[n + here] = same;
    }
    const bool overlaps = range.begin < end && range.begin != range.end;
    for (size_t i = first; i < last; ++i) out[order[i]] = overlaps ? -1 : on_storage;
    end = std::max(end, range.end);
    first = last;
  }
  return out;
}

// The usual case, an argument that is another one in each call, without a sort. What it is compared with may still be
// of the last call; then it is compared with this when its turn comes.
bool SharingGuard::movesAlone(size_t i, const Range& range) const {
  if (!alone_[i]) return false;
  for (size_t k = 0; k < last_.size(); ++k) {
    const Range& other = last_[k];
    if (k != i && (range.storage == other.storage || (range.begin < other.end && other.begin < range.end)))
      return false;
  }
  last_[i] = range;
  return true;
}

bool SharingGuard::holds(const std::vector<at::Tensor>& inputs) const {
  if (inputs.size() != last_.size() || overlaps_) return false;
  size_t i = 0;
  while (i < inputs.size() && (rangeOf(inputs[i]) == last_[i] || movesAlone(i, rangeOf(inputs[i])))) ++i;
  if (i == inputs.size()) return true;
  std::vector<Range> ranges;
  ranges.reserve(inputs.size());
  for (const at::Tensor& t : inputs) ranges.push_back(rangeOf(t));
  if (patternOf(ranges) != pattern_) return false;
  last_ = std::move(ranges);
  return true;
}

}  // namespace shunt_torch
