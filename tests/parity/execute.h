// Runs a Case on one library. The two libraries' interfaces have the same shape, so one template serves both: `Api`
// names the types and the few calls that are spelt differently (run_shunt.cpp, run_torch.cpp).
//
// Reads elements by their strides and by nothing of the library, so that a wrong contiguous() or item() can't hide.
#pragma once

#include "tests/parity/case.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>

namespace parity {

template <class Api>
class Executor {
 public:
  using Tensor = typename Api::Tensor;
  using IValue = typename Api::IValue;
  using Stack = typename Api::Stack;

  explicit Executor(const Case& c) : case_(c) {}

  Outcome run() {
    makeTensors();
    std::vector<int64_t> versions;
    for (const Tensor& t : tensors_) versions.push_back(versionOf(t));
    call(versions);
    // The call's arguments keep the results' aliases alive until here.
    if (!out_.threw && case_.backward) backward();
    return std::move(out_);
  }

 private:
  static int64_t versionOf(const Tensor& t) { return t.defined() ? static_cast<int64_t>(Api::version(t)) : 0; }

  void makeTensors() {
    std::vector<Tensor> bases;
    for (const StorageSpec& s : case_.storages) bases.push_back(Api::fromBytes(s.dtype, s.bytes));
    for (const TensorSpec& spec : case_.tensors) {
      Tensor leaf, tensor;
      if (spec.defined && spec.origin == Origin::kViewOfClone) {
        leaf = bases[static_cast<size_t>(spec.storage)];
        if (spec.requires_grad) leaf.set_requires_grad(true);
        tensor = Api::asStrided(Api::clone(leaf), spec.sizes, spec.strides, spec.offset);
      } else if (spec.defined) {
        leaf = Api::onStorage(bases[static_cast<size_t>(spec.storage)], spec.sizes, spec.strides, spec.offset);
        if (spec.requires_grad) leaf.set_requires_grad(true);
        tensor = spec.origin == Origin::kCloneOfLeaf ? Api::clone(leaf) : leaf;
        if (spec.wrapped_number) Api::setWrappedNumber(tensor);
      }
      leaves_.push_back(leaf);
      tensors_.push_back(tensor);
    }
  }

  IValue toIValue(const Value& v) const {
    switch (v.kind) {
      case Value::Kind::kNone:
        return IValue();
      case Value::Kind::kInt:
        return IValue(v.i);
      case Value::Kind::kDouble:
        return IValue(v.d);
      case Value::Kind::kBool:
        return IValue(v.i != 0);
      case Value::Kind::kString:
        return IValue(v.s);
      case Value::Kind::kIntList:
        return IValue(v.ints);
      case Value::Kind::kDoubleList:
        return IValue(v.doubles);
      case Value::Kind::kBoolList:
        return Api::boolList(v.ints);
      case Value::Kind::kDeviceCpu:
        return Api::cpuDevice();
      case Value::Kind::kTensor:
        return IValue(tensors_[static_cast<size_t>(v.ints[0])]);
      case Value::Kind::kTensorList: {
        std::vector<Tensor> list;
        for (const int64_t i : v.ints) list.push_back(tensors_[static_cast<size_t>(i)]);
        return Api::tensorList(list);
      }
      case Value::Kind::kOptionalTensorList: {
        std::vector<std::optional<Tensor>> list;
        for (const int64_t i : v.ints)
          list.push_back(i < 0 ? std::optional<Tensor>() : tensors_[static_cast<size_t>(i)]);
        return Api::optionalTensorList(list);
      }
      case Value::Kind::kOther:
        break;
    }
    throw std::runtime_error("a case's argument is of a kind that only returns may have");
  }

  void call(const std::vector<int64_t>& versions) {
    Stack stack;
    for (const Value& v : case_.args) stack.push_back(toIValue(v));
    try {
      typename Api::GradGuard guard(!case_.no_grad);
      Api::callBoxed(case_.name, case_.overload, stack);
    } catch (const std::exception& e) {
      out_.threw = true;
      out_.error = e.what();
      return;
    }
    for (const IValue& v : stack) out_.returns.push_back(describe(v));
    for (size_t i = 0; i < tensors_.size(); ++i) {
      out_.after.push_back(stateOf(tensors_[i]));
      out_.bumped.push_back(versionOf(tensors_[i]) - versions[i]);
    }
  }

  Returned describe(const IValue& v) {
    Returned r;
    std::vector<Tensor> list;
    r.number = Api::describe(v, list);
    for (const Tensor& t : list) {
      r.tensors.push_back(stateOf(t));
      r.same_as.push_back(find(t, [](const Tensor& a, const Tensor& b) { return Api::same(a, b); }));
      r.storage_of.push_back(find(t, [](const Tensor& a, const Tensor& b) { return a.is_alias_of(b); }));
      results_.push_back(t);
    }
    return r;
  }

  template <class Match>
  int find(const Tensor& t, Match match) const {
    if (t.defined())
      for (size_t i = 0; i < tensors_.size(); ++i)
        if (tensors_[i].defined() && match(t, tensors_[i])) return static_cast<int>(i);
    return -1;
  }

  static TensorState stateOf(const Tensor& t) {
    TensorState s;
    s.defined = t.defined();
    if (!s.defined) return s;
    s.dtype = static_cast<int>(t.scalar_type());
    s.sizes.assign(t.sizes().begin(), t.sizes().end());
    s.strides.assign(t.strides().begin(), t.strides().end());
    s.offset = t.storage_offset();
    s.requires_grad = t.requires_grad();
    s.is_leaf = t.is_leaf();
    s.is_view = t.is_view();
    s.grad_fn = Api::gradFnName(t);
    s.bytes = elementsOf(t);
    return s;
  }

  static std::vector<uint8_t> elementsOf(const Tensor& t) {
    const auto item = static_cast<size_t>(t.element_size());
    std::vector<uint8_t> out(static_cast<size_t>(t.numel()) * item);
    if (out.empty()) return out;
    const auto* data = static_cast<const uint8_t*>(t.data_ptr());
    std::vector<int64_t> index(static_cast<size_t>(t.dim()), 0);
    for (size_t at = 0; at < out.size(); at += item) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
      std::memcpy(&out[at], data + offset * static_cast<int64_t>(item), item);
      for (size_t d = index.size(); d-- > 0 && ++index[d] == t.sizes()[d];) index[d] = 0;
    }
    return out;
  }

  void backward() {
    std::vector<Tensor> roots, gradients;
    for (size_t i = 0; i < results_.size(); ++i) {
      const Tensor& t = results_[i];
      if (!t.defined() || !t.requires_grad()) continue;
      roots.push_back(t);
      const bool expanded = case_.expanded_gradients;
      const int dtype = static_cast<int>(t.scalar_type());
      const std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
      std::vector<int64_t> strides(sizes.size(), 0);
      for (int64_t d = static_cast<int64_t>(sizes.size()) - 1, step = 1; !expanded && d >= 0; --d) {
        strides[static_cast<size_t>(d)] = step;
        step *= std::max<int64_t>(sizes[static_cast<size_t>(d)], 1);
      }
      const Tensor base = Api::fromBytes(dtype, drawGradient(case_, i, dtype, expanded ? 1 : t.numel()));
      gradients.push_back(Api::onStorage(base, sizes, strides, 0));
    }
    if (roots.empty()) return;
    out_.ran_backward = true;
    try {
      Api::backward(roots, gradients);
    } catch (const std::exception& e) {
      out_.backward_threw = true;
      out_.backward_error = e.what();
      return;
    }
    for (const Tensor& t : leaves_) out_.grads.push_back(t.defined() ? stateOf(Api::grad(t)) : TensorState());
  }

  const Case& case_;
  Outcome out_;
  std::vector<Tensor> leaves_, tensors_, results_;
};

}  // namespace parity
