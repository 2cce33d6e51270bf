#include "operator_check.h"

#include "fused.h"
#include "tensors.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace shunt_torch {
namespace {

using at::Tensor;

Tensor emptyLike(const Tensor& t) { return at::detail::empty_strided_cpu(t.sizes(), t.strides(), t.scalar_type()); }

/// One operator of a program, computed by Shunt on copies of what it reads.
class OperatorCheck {
 public:
  OperatorCheck(const Program& program, size_t step, const std::vector<Tensor>& trace, Numerics numerics)
      : program_(program), step_(step), bound_(fusedRule(program.nameOf(step), numerics)->bound) {
    std::set<size_t> blocked;
    group_ = FusedGroup::make(program, {step}, trace, std::vector<bool>(trace.size(), true), numerics, blocked);
    if (group_ == nullptr) return;
    std::set<const void*> storages;
    for (const int64_t slot : group_->inputs())
      if (!storages.insert(trace[static_cast<size_t>(slot)].storage().unsafeGetStorageImpl()).second) group_ = nullptr;
    // Several views of one storage can't be copied one by one.
    if (group_ == nullptr) return;
    for (const int64_t slot : group_->results()) results_.push_back(emptyLike(trace[static_cast<size_t>(slot)]));
  }

  void before(const std::vector<Tensor>& slots) {
    if (group_ == nullptr) return;
    std::vector<void*> addresses, results;
    for (const int64_t slot : group_->inputs()) {
      const Tensor& t = slots[static_cast<size_t>(slot)];
      copies_.push_back(copyInputs({t})[0]);  // expanded tensors, too
      magnitudes_.push_back(t.is_floating_point() ? t.to(at::kDouble).abs() : Tensor());
      addresses.push_back(copies_.back().data_ptr());
    }
    for (const Tensor& t : results_) results.push_back(t.data_ptr());
    stack_ = program_.stackOf(step_, slots);
    if (bound_ == Bound::kUpdate)  // which writes them
      for (c10::IValue& v : stack_)
        if (v.isTensorList()) v = copyInputs(v.toTensorVector());
    for (c10::IValue& v : stack_)  // of the sum of magnitudes
      if (v.isTensor() && v.toTensor().defined() && v.toTensor().is_floating_point()) v = v.toTensor().abs();
    group_->run(addresses, results);
  }

  std::string after(const std::vector<Tensor>& slots) {
    if (group_ == nullptr) return "";
    const std::vector<int64_t> theirs = program_.resultsOf(step_);
    if (group_->results().empty()) return afterWrites(slots);
    size_t at = 0;
    for (size_t r = 0; r < theirs.size(); ++r)
      if (theirs[r] >= 0)
        if (std::string what = difference(results_[at++], slots[static_cast<size_t>(theirs[r])], r); !what.empty())
          return what;
    return "";
  }

 private:
  /// In place, results are in the copies of what is written.
  std::string afterWrites(const std::vector<Tensor>& slots) {
    const std::vector<int64_t>& inputs = group_->inputs();
    const std::vector<int64_t> written = program_.writtenBy(step_);
    if (bound_ == Bound::kUpdate) magnitudes_ = magnitudesOfUpdate();
    for (size_t r = 0; r < written.size(); ++r) {
      const auto at = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), written[r]) - inputs.begin());
      if (std::string what = difference(copies_[at], slots[static_cast<size_t>(written[r])], r); !what.empty())
        return what;
    }
    return "";
  }

  /// For each tensor that is written: what the operator makes of the magnitudes; for parameters with that of the step.
  std::vector<Tensor> magnitudesOfUpdate() const {
    torch::jit::Stack stack = stack_;
    std::vector<Tensor> before, out;
    const auto& arguments = program_.operatorOf(step_).schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == "maximize") stack[i] = false;  // magnitudes would be subtracted
      if (!stack[i].isTensorList()) continue;
      std::vector<Tensor> list;
      for (const Tensor& t : stack[i].toTensorVector()) list.push_back(t.abs());
      if (i == 0)
        for (const Tensor& t : list) before.push_back(t.to(at::kDouble));
      if (arguments[i].alias_info() != nullptr) out.insert(out.end(), list.begin(), list.end());
      stack[i] = list;
    }
    program_.operatorOf(step_).callBoxed(stack);
    for (Tensor& t : out) t = t.to(at::kDouble).abs();
    for (size_t i = 0; i < before.size(); ++i) out[i] = before[i] + (out[i] - before[i]).abs();
    return out;
  }

  /// That are added for one element of result `r`, at most.
  double termsOf(const Tensor& theirs, size_t r) const {
    const std::string& name = program_.nameOf(step_);
    const auto sizeOf = [&](size_t input, int64_t dim) { return static_cast<double>(copies_[input].size(dim)); };
    const auto in_all = [&](size_t input) { return static_cast<double>(copies_[input].numel()); };
    const size_t n = copies_.size();
    if (name == "aten::convolution") return in_all(1) / sizeOf(1, 0) + 1;  // input, weight, bias
    if (name == "aten::convolution_backward")                              // of the result, input, weight
      return r == 0 ? in_all(2) / sizeOf(2, 1) : in_all(0) / sizeOf(0, 1);
    if (name == "aten::scatter_add_") return in_all(n - 1) + 1;
    // mm, addmm and bmm add over the last dimension of the last but one, the others over what the result lacks.
    return n == 1 ? in_all(0) / static_cast<double>(theirs.numel()) : sizeOf(n - 2, -1) + 1;
  }

  Tensor toleranceOf(const Tensor& theirs, size_t r) {
    const double eps = theirs.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                           : std::numeric_limits<float>::epsilon();
    const double least =
        theirs.scalar_type() == at::kDouble ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    const Tensor magnitude = theirs.to(at::kDouble).abs();
    const auto largest = [](const Tensor& t) {
      return t.numel() == 0 ? Tensor() : t.masked_fill(t.isfinite().logical_not(), 0).max();
    };
    switch (bound_) {
      case Bound::kSame:
        return at::zeros_like(magnitude);
      case Bound::kFunction:
        return magnitude * (4 * eps) + least;
      case Bound::kMixed: {
        Tensor sum = magnitude;
        for (const Tensor& m : magnitudes_)
          if (m.defined()) sum = sum + m;
        return sum * (8 * eps) + least;
      }
      case Bound::kUpdate:
        return (magnitude + magnitudes_[r]) * (16 * eps) + least;
      case Bound::kSum: {
        torch::jit::Stack stack = stack_;
        program_.operatorOf(step_).callBoxed(stack);
        return stack[r].toTensor().to(at::kDouble).abs() * ((termsOf(theirs, r) + 2) * eps) + least;
      }
      case Bound::kRow: {
        const Tensor& first = copies_[0];
        const double row = first.dim() == 0 ? 1 : static_cast<double>(first.size(-1));
        const double terms = std::max(row, static_cast<double>(first.numel()) / static_cast<double>(theirs.numel()));
        Tensor scale = largest(magnitude);
        for (const Tensor& m : magnitudes_)
          if (m.defined()) scale = at::maximum(scale, largest(m));
        return (scale * ((terms + 8) * eps) + least).expand(theirs.sizes());
      }
    }
    return at::zeros_like(magnitude);
  }

  std::string difference(const Tensor& ours, const Tensor& theirs, size_t r) {
    const Tensor a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
    const Tensor same = a.eq(b).logical_or_(a.isnan().logical_and_(b.isnan()));
    const Tensor wrong =
        same.logical_or(a.sub(b).abs().le(toleranceOf(theirs, r))).logical_not_().reshape({-1}).nonzero();
    if (wrong.numel() == 0) return "";
    const int64_t at = wrong[0].item<int64_t>();
    std::ostringstream out;
    out.precision(17);
    out << program_.nameOf(step_) << " (" << program_.whereOf(step_) << "): element " << at
        << " of its result: " << a.reshape({-1})[at].item<double>() << " for " << b.reshape({-1})[at].item<double>()
        << ", " << wrong.numel() << " of " << a.numel() << " are too far apart";
    return out.str();
  }

  const Program& program_;
  const size_t step_;
  const Bound bound_;
  std::shared_ptr<FusedGroup> group_;
  std::vector<Tensor> copies_, results_, magnitudes_;
  torch::jit::Stack stack_;
};

}  // namespace

std::string checkOperators(const Program& program, const std::vector<Tensor>& trace, const std::vector<Tensor>& inputs,
                           Numerics numerics) {
  std::optional<OperatorCheck> check;
  std::string what;
  std::vector<Tensor> grads(inputs.size());
  std::vector<bool> has_grad(inputs.size(), false);
  Program::Run run{inputs, &grads, &has_grad};
  run.observer = [&](size_t step, bool is_done) {
    if (!is_done) {
      check.reset();
      if (!what.empty() || !FusedGroup::canFuse(program, step, trace, numerics)) return;
      check.emplace(program, step, trace, numerics).before(run.slots);
    } else if (check) {
      what = check->after(run.slots);
    }
  };
  program.run(run);
  return what;
}

}  // namespace shunt_torch
