#include "fused.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace shunt_torch {
namespace {

struct Rule {
  std::string_view name;        // PyTorch's operator
  const char* fused = nullptr;  // Shunt's of another name
  bool has_alpha = false;       // rounds once where alpha is 1
};

// Not in it, for they round or choose otherwise: sqrt (MKL's is an ulp off in vectors), maximum and minimum of zeros of
// both signs (vectors and their tails differ).
constexpr std::array kRules = {
    Rule{"aten::add.Tensor", "shunt_torch::add_scaled", true},
    Rule{"aten::add_.Tensor", "shunt_torch::add_scaled_", true},
    Rule{"aten::sub.Tensor", "shunt_torch::sub_scaled", true},
    Rule{"aten::sub_.Tensor", "shunt_torch::sub_scaled_", true},
    Rule{"aten::mul.Tensor"},
    Rule{"aten::mul_.Tensor"},
    Rule{"aten::div.Tensor"},
    Rule{"aten::div_.Tensor"},
    Rule{"aten::neg"},
    Rule{"aten::abs"},
    Rule{"aten::relu"},
    Rule{"aten::relu_"},
    Rule{"aten::threshold_backward"},
    Rule{"aten::where.self"},
    Rule{"aten::eq.Tensor"},
    Rule{"aten::ne.Tensor"},
    Rule{"aten::lt.Tensor"},
    Rule{"aten::le.Tensor"},
    Rule{"aten::gt.Tensor"},
    Rule{"aten::ge.Tensor"},
    Rule{"aten::eq.Scalar"},
    Rule{"aten::ne.Scalar"},
    Rule{"aten::lt.Scalar"},
    Rule{"aten::le.Scalar"},
    Rule{"aten::gt.Scalar"},
    Rule{"aten::ge.Scalar"},
};

const Rule* ruleOf(const std::string& name) {
  const auto* const it = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.name == name; });
  return it == kRules.end() ? nullptr : it;
}

// From so many elements on PyTorch's kernels use all threads (at::internal::GRAIN_SIZE), which a group doesn't.
constexpr int64_t kParallelElements = 32768;

bool fusesMultiplyAdd() {
  static const bool fuses = [] {
    const std::string capability = at::get_cpu_capability();
    return capability == "AVX2" || capability == "AVX512";
  }();
  return fuses;
}

std::optional<shunt::ScalarType> dtypeOf(at::ScalarType t) {
  switch (t) {
    case at::kFloat:
      return shunt::kFloat;
    case at::kDouble:
      return shunt::kDouble;
    case at::kBool:
      return shunt::kBool;
    default:
      return std::nullopt;
  }
}

// A number as Shunt's; none for anything else.
std::optional<shunt::IValue> numberOf(const c10::IValue& v) {
  if (v.isDouble()) return v.toDouble();
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isTensor() && v.toTensor().defined() && v.toTensor().unsafeGetTensorImpl()->is_wrapped_number()) {
    const at::Scalar s = v.toTensor().item();
    if (s.isFloatingPoint()) return s.toDouble();
    if (s.isBoolean()) return s.toBool();
    if (s.isIntegral(false)) return s.toLong();
  }
  return std::nullopt;
}

shunt::HostSpec specOf(const at::Tensor& t, bool with_offset) {
  return {*dtypeOf(t.scalar_type()), t.sizes().vec(), t.strides().vec(), with_offset ? t.storage_offset() : 0};
}

bool sameView(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

}  // namespace

bool FusedGroup::canFuse(const Program& program, size_t step, const std::vector<at::Tensor>& trace) {
  const Program::Step& s = program.steps_[step];
  const Rule* const rule = ruleOf(s.name);
  if (rule == nullptr || s.expected) return false;
  std::optional<at::ScalarType> floating;
  const auto fits = [&](int64_t slot) {
    const at::Tensor& t = trace[static_cast<size_t>(slot)];
    if (!t.defined() || !dtypeOf(t.scalar_type()) || t.numel() == 0 || t.is_neg() || t.is_conj()) return false;
    if (t.numel() >= kParallelElements && at::get_num_threads() > 1) return false;
    if (t.scalar_type() == at::kBool) return true;
    if (floating && *floating != t.scalar_type()) return false;  // promotion rounds too
    floating = t.scalar_type();
    return true;
  };
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const Program::Argument& a = s.arguments[i];
    if (a.place == Program::Place::kSlot ? !fits(a.slots[0])
                                         : a.place != Program::Place::kLiteral || !numberOf(a.literal))
      return false;
  }
  for (const auto& of_return : s.results)
    if (of_return.size() != 1 || of_return[0] < 0 || !fits(of_return[0])) return false;
  // Bools and numbers alone have rules of their own.
  return floating.has_value();
}

class FusedGroup::Maker {
 public:
  Maker(const Program& program, const std::vector<at::Tensor>& trace) : program_(program), trace_(trace) {}

  void add(size_t step) {
    const Program::Step& s = program_.steps_[step];
    if (!canFuse(program_, step, trace_)) return addViews(s);
    const Rule& rule = *ruleOf(s.name);
    std::vector<shunt::HostArgument> arguments;
    bool rounds_once = true;
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const Program::Argument& a = s.arguments[i];
      if (a.place == Program::Place::kSlot) {
        arguments.emplace_back(values_.at(a.slots[0]));
        continue;
      }
      const shunt::IValue number = *numberOf(a.literal);
      if (rule.has_alpha && i == 2) rounds_once = a.literal.toScalar().to<double>() == 1;
      arguments.emplace_back(number);
    }
    const bool scaled = rule.has_alpha && !rounds_once && fusesMultiplyAdd();
    const at::Tensor& like = trace_[static_cast<size_t>(s.results[0][0])];
    // In place, the result is known; else Shunt's has to lie as PyTorch's does.
    const bool in_place = s.op->schema().arguments()[0].alias_info() != nullptr;
    std::vector<std::optional<shunt::HostSpec>> expected;
    if (!in_place) expected.emplace_back(specOf(like, false));
    values_[s.results[0][0]] =
        builder_.call(scaled ? rule.fused : std::string(rule.name), std::move(arguments), {}, expected)[0];
    made_.push_back(s.results[0][0]);
  }

  // Views of results of the group itself; those of other memory are inputs.
  void addViews(const Program::Step& s) {
    for (const auto& of_return : s.results)
      for (const int64_t slot : of_return) {
        if (slot < 0 || values_.contains(slot)) continue;
        const at::Tensor& view = trace_[static_cast<size_t>(slot)];
        for (const int64_t base : made_) {
          const at::Tensor& of = trace_[static_cast<size_t>(base)];
          if (!of.is_alias_of(view)) continue;
          values_[slot] = sameView(of, view)
                              ? values_.at(base)
                              : builder_.call("aten::as_strided", {values_.at(base), view.sizes().vec(),
                                                                   view.strides().vec(), view.storage_offset()})[0];
          break;
        }
      }
  }

  void addInput(int64_t slot) {
    const at::Tensor& t = trace_[static_cast<size_t>(slot)];
    const void* const storage = t.storage().unsafeGetStorageImpl();
    const auto it = first_.find(storage);
    values_[slot] = it == first_.end() ? builder_.input(specOf(t, true)) : builder_.input(specOf(t, true), it->second);
    first_.try_emplace(storage, values_[slot]);
  }

  void addResult(int64_t slot) {
    builder_.outputInto(values_.at(slot), trace_[static_cast<size_t>(slot)].strides().vec());
  }
  shunt::HostPlan finish() { return builder_.compile({.name = "fused operators", .check_memory = false}); }

 private:
  const Program& program_;
  const std::vector<at::Tensor>& trace_;
  shunt::HostPlanBuilder builder_;
  std::unordered_map<int64_t, shunt::HostValue> values_;
  std::unordered_map<const void*, shunt::HostValue> first_;
  std::vector<int64_t> made_;
};

std::shared_ptr<FusedGroup> FusedGroup::make(const Program& program, const std::vector<size_t>& steps,
                                             const std::vector<at::Tensor>& trace, const std::vector<bool>& used_later,
                                             std::set<size_t>& blocked) {
  auto group = std::make_shared<FusedGroup>();
  std::set<const void*> made;     // storages
  std::set<int64_t> read, given;  // slots that come from outside, and that members give
  std::vector<int64_t> fresh;
  for (const size_t step : steps) {
    const Program::Step& s = program.steps_[step];
    if (!canFuse(program, step, trace)) continue;
    for (const Program::Argument& a : s.arguments)
      for (const int64_t slot : a.slots)
        if (!given.contains(slot) &&
            !made.contains(trace[static_cast<size_t>(slot)].storage().unsafeGetStorageImpl()) &&
            read.insert(slot).second)
          group->inputs_.push_back(slot);
    const int64_t result = s.results[0][0];
    given.insert(result);
    const void* const storage = trace[static_cast<size_t>(result)].storage().unsafeGetStorageImpl();
    const bool in_place = s.op->schema().arguments()[0].alias_info() != nullptr;
    if (in_place) continue;
    made.insert(storage);
    fresh.push_back(result);
  }
  for (const int64_t slot : fresh)
    if (used_later[static_cast<size_t>(slot)]) group->results_.push_back(slot);
  Maker maker(program, trace);
  size_t at = 0;
  try {
    for (const int64_t slot : group->inputs_) maker.addInput(slot);
    for (; at < steps.size(); ++at) maker.add(steps[at]);
    for (const int64_t slot : group->results_) maker.addResult(slot);
    group->plan_ = maker.finish();
  } catch (const std::exception&) {
    // What Shunt doesn't take is left to PyTorch; where no operator is to blame, all are.
    if (at < steps.size())
      blocked.insert(steps[at]);
    else
      blocked.insert(steps.begin(), steps.end());
    return nullptr;
  }
  return group;
}

}  // namespace shunt_torch
