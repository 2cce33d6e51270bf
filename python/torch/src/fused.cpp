#include "fused.h"

#include "fused_updates.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/Reduction.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace shunt_torch {
namespace {

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
    case at::kLong:
      return shunt::kLong;
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

// What an argument that is no tensor is to Shunt; none for what isn't known here.
std::optional<shunt::IValue> literalOf(const c10::Argument& schema, const c10::IValue& v) {
  if (v.isNone() || (v.isTensor() && !v.toTensor().defined())) return shunt::IValue();
  // Where all tensors are dense ones of the CPU.
  if (v.isDevice() && v.toDevice().is_cpu()) return shunt::IValue();
  if (schema.real_type()->str().find("Layout") != std::string::npos)
    return v.toInt() == static_cast<int64_t>(at::kStrided) ? std::optional(shunt::IValue()) : std::nullopt;
  if (const std::string type = schema.real_type()->str(); type.find("ScalarType") != std::string::npos) {
    const auto dtype = dtypeOf(static_cast<at::ScalarType>(v.toInt()));
    return dtype ? std::optional(shunt::IValue(*dtype)) : std::nullopt;
  }
  if (v.isIntList()) return shunt::IValue(v.toIntVector());
  if (v.isBoolList()) {
    const auto list = v.toBoolList();
    return shunt::IValue(std::vector<bool>(list.begin(), list.end()));
  }
  if (v.isString()) return shunt::IValue(v.toStringRef());
  return numberOf(v);
}

bool writesFirst(const c10::FunctionSchema& schema) {
  return !schema.arguments().empty() && schema.arguments()[0].alias_info() != nullptr &&
         schema.arguments()[0].alias_info()->isWrite();
}

}  // namespace

bool FusedGroup::isTooMuch(const FusedRule& rule, const Program& program, size_t step,
                           const std::vector<at::Tensor>& trace) {
  if (rule.most == INT64_MAX) return false;
  const Program::Step& s = program.steps_[step];
  const auto tensorOf = [&](size_t i) { return trace[static_cast<size_t>(s.arguments[i].slots.at(0))]; };
  if (s.name == "aten::convolution_backward") {  // of the result, input, weight
    const at::Tensor result = tensorOf(0), weight = tensorOf(2);
    return result.numel() * (weight.numel() / weight.size(0)) > rule.most;
  }
  int64_t each = 1;
  if (s.name == "aten::convolution") each = tensorOf(1).numel() / tensorOf(1).size(0);
  return std::any_of(s.results.begin(), s.results.end(), [&](const std::vector<int64_t>& slots) {
    return slots[0] >= 0 && trace[static_cast<size_t>(slots[0])].numel() * each > rule.most;
  });
}

bool FusedGroup::canFuse(const Program& program, size_t step, const std::vector<at::Tensor>& trace, Numerics numerics) {
  const Program::Step& s = program.steps_[step];
  const FusedRule* const rule = fusedRule(s.name, numerics);
  if (rule == nullptr || s.expected || (rule->may_refuse && step >= program.harmlessSteps())) return false;
  std::optional<at::ScalarType> floating;
  const auto fits = [&](int64_t slot) {
    const at::Tensor t = slot < 0 ? at::Tensor() : trace[static_cast<size_t>(slot)];
    if (!t.defined() || !dtypeOf(t.scalar_type()) || t.numel() == 0 || t.is_neg() || t.is_conj()) return false;
    if (t.numel() >= kParallelElements && at::get_num_threads() > 1) return false;
    if (t.scalar_type() == at::kBool) return true;
    if (t.scalar_type() == at::kLong) return rule->has_indices;
    if (floating && *floating != t.scalar_type()) return false;  // promotion rounds too
    floating = t.scalar_type();
    return true;
  };
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const Program::Argument& a = s.arguments[i];
    const bool are_tensors = a.place == Program::Place::kSlot || a.place == Program::Place::kList;
    if (are_tensors ? !std::all_of(a.slots.begin(), a.slots.end(), fits)
                    : a.place != Program::Place::kLiteral || !literalOf(s.op->schema().arguments()[i], a.literal))
      return false;
  }
  for (const auto& of_return : s.results)
    if (of_return.size() != 1 || (of_return[0] >= 0 && !fits(of_return[0]))) return false;
  // Bools and numbers alone have rules of their own.
  return floating.has_value() && !isTooMuch(*rule, program, step, trace);
}

class FusedGroup::Maker {
 public:
  Maker(const Program& program, const std::vector<at::Tensor>& trace, Numerics numerics)
      : program_(program), trace_(trace), numerics_(numerics) {}

  void add(size_t step) {
    const Program::Step& s = program_.steps_[step];
    if (!canFuse(program_, step, trace_, numerics_)) return addViews(s);
    if (isFusedUpdate(s.name)) return addUpdate(s);
    if (s.name == "aten::mse_loss_backward") return addSquareGradient(s);
    const FusedRule& rule = *fusedRule(s.name, numerics_);
    std::vector<shunt::HostArgument> arguments;
    bool scaled = false;
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const Program::Argument& a = s.arguments[i];
      if (a.place == Program::Place::kSlot) {
        arguments.emplace_back(values_.at(a.slots[0]));
        continue;
      }
      if (a.place == Program::Place::kList) {
        std::vector<shunt::HostValue> list;
        for (const int64_t slot : a.slots) list.push_back(values_.at(slot));
        arguments.emplace_back(std::move(list));
        continue;
      }
      if (rule.scaled != nullptr && i == 2) scaled = a.literal.toScalar().to<double>() != 1 && fusesMultiplyAdd();
      arguments.emplace_back(*literalOf(s.op->schema().arguments()[i], a.literal));
    }
    // In place, the result is known; else Shunt's has to lie as PyTorch's does.
    std::vector<std::optional<shunt::HostSpec>> expected;
    if (!writesFirst(s.op->schema()))
      for (const auto& of_return : s.results)
        expected.push_back(of_return[0] < 0 ? std::nullopt
                                            : std::optional(specOf(trace_[static_cast<size_t>(of_return[0])], false)));
    const std::vector<shunt::HostValue> results =
        builder_.call(scaled ? rule.scaled : std::string(rule.name), std::move(arguments), {}, expected);
    for (size_t r = 0; r < s.results.size(); ++r) {
      if (s.results[r][0] < 0) continue;
      values_[s.results[r][0]] = results.at(r);
      made_.push_back(s.results[r][0]);
    }
  }

  /// norm * (self - target) * grad, each rounded, as PyTorch's kernel has it.
  void addSquareGradient(const Program::Step& s) {
    const auto valueOf = [&](size_t i) { return shunt::HostArgument(values_.at(s.arguments[i].slots.at(0))); };
    const int64_t slot = s.results[0][0], reduction = s.arguments[3].literal.toInt();
    const at::Tensor& result = trace_[static_cast<size_t>(slot)];
    const double norm = reduction == at::Reduction::Mean ? 2. / static_cast<double>(result.numel()) : 2.;
    const shunt::HostValue difference = builder_.call("aten::sub.Tensor", {valueOf(1), valueOf(2)})[0];
    const shunt::HostValue scaled = builder_.call("aten::mul.Tensor", {difference, norm})[0];
    values_[slot] = builder_.call("aten::mul.Tensor", {scaled, valueOf(0)}, {}, {specOf(result, false)})[0];
    made_.push_back(slot);
  }

  void addUpdate(const Program::Step& s) {
    UpdateArguments arguments;
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const Program::Argument& a = s.arguments[i];
      const c10::Argument& schema = s.op->schema().arguments()[i];
      if (a.place != Program::Place::kLiteral)
        for (const int64_t slot : a.slots) arguments.tensors[schema.name()].push_back(values_.at(slot));
      else if (!a.literal.isNone())
        arguments.numbers[schema.name()] = *literalOf(schema, a.literal);
    }
    addFusedUpdate(builder_, s.name, arguments);
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
  const Numerics numerics_;
  shunt::HostPlanBuilder builder_;
  std::unordered_map<int64_t, shunt::HostValue> values_;
  std::unordered_map<const void*, shunt::HostValue> first_;
  std::vector<int64_t> made_;
};

std::shared_ptr<FusedGroup> FusedGroup::make(const Program& program, const std::vector<size_t>& steps,
                                             const std::vector<at::Tensor>& trace, const std::vector<bool>& used_later,
                                             Numerics numerics, std::set<size_t>& blocked) {
  auto group = std::make_shared<FusedGroup>();
  std::set<const void*> made;     // storages
  std::set<int64_t> read, given;  // slots that come from outside, and that members give
  std::vector<int64_t> fresh;
  for (const size_t step : steps) {
    const Program::Step& s = program.steps_[step];
    if (!canFuse(program, step, trace, numerics)) continue;
    const auto storageOf = [&](int64_t slot) {
      return trace[static_cast<size_t>(slot)].storage().unsafeGetStorageImpl();
    };
    for (const Program::Argument& a : s.arguments)
      for (const int64_t slot : a.slots)
        if (!given.contains(slot) && !made.contains(storageOf(slot)) && read.insert(slot).second)
          group->inputs_.push_back(slot);
    for (const auto& of_return : s.results) {
      const int64_t result = of_return[0];
      if (result < 0) continue;
      given.insert(result);
      if (writesFirst(s.op->schema())) continue;
      made.insert(storageOf(result));
      fresh.push_back(result);
    }
  }
  for (const int64_t slot : fresh)
    if (used_later[static_cast<size_t>(slot)]) group->results_.push_back(slot);
  Maker maker(program, trace, numerics);
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
