// What tests ask of a plan's parts (PlanDescription): of a compiled function's with its backward passes, a Plan's or a
// HostPlan's. Any thread.
#pragma once

#include <shunt/compile/plan_description.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace shunt::test {

using PlanCall = PlanPart::Call;

template <class T>
std::vector<PlanDescription> plansOf(const T& planned) {
  if constexpr (std::is_same_v<T, std::vector<PlanDescription>>)
    return planned;
  else if constexpr (requires { planned.plans(); })
    return planned.plans();
  else
    return {planned.description()};
}

/// Of all plans, in their order.
template <class T>
std::vector<PlanPart> partsOf(const T& planned) {
  std::vector<PlanPart> out;
  for (const PlanDescription& d : plansOf(planned)) out.insert(out.end(), d.parts.begin(), d.parts.end());
  return out;
}

/// "aten::sum" is any of its overloads, "aten::sum.dim_IntList" that one, "" everything.
inline bool isOperator(std::string_view name, std::string_view wanted) {
  return wanted.empty() || name == wanted || (name.starts_with(wanted) && name[wanted.size()] == '.');
}

template <class T>
size_t callsOf(const T& planned, std::string_view op, std::optional<PlanCall> how = {}) {
  return static_cast<size_t>(std::ranges::count_if(partsOf(planned), [&](const PlanPart& p) {
    return p.kind == PlanPart::Kind::kCall && isOperator(p.operators.at(0), op) && (!how || p.call == *how);
  }));
}

/// How often the operator stands in a part, called or in a loop.
inline size_t timesIn(const std::vector<PlanPart>& parts, std::string_view op) {
  size_t n = 0;
  for (const PlanPart& p : parts)
    n +=
        static_cast<size_t>(std::ranges::count_if(p.operators, [&](const auto& name) { return isOperator(name, op); }));
  return n;
}

/// Loops of a kind, of so many operators and over these sizes where they are given.
template <class T>
std::vector<PlanPart> loopsOf(const T& planned, PlanPart::Kind kind, std::optional<size_t> operators,
                              const std::optional<std::vector<int64_t>>& sizes) {
  std::vector<PlanPart> out;
  for (const PlanPart& p : partsOf(planned))
    if (p.kind == kind && (!operators || p.operators.size() == *operators) && (!sizes || p.sizes == *sizes))
      out.push_back(p);
  return out;
}
template <class T>
std::vector<PlanPart> regionsOf(const T& planned, std::optional<size_t> operators = {},
                                const std::optional<std::vector<int64_t>>& sizes = {}) {
  return loopsOf(planned, PlanPart::Kind::kRegion, operators, sizes);
}
template <class T>
std::vector<PlanPart> rowsOf(const T& planned, std::optional<size_t> operators = {},
                             const std::optional<std::vector<int64_t>>& sizes = {}) {
  return loopsOf(planned, PlanPart::Kind::kRows, operators, sizes);
}

/// The code of all its loops: of regions, and on both sides of operators along rows.
template <class T>
std::vector<PlanCode> codeOf(const T& planned) {
  std::vector<PlanCode> out;
  for (const PlanPart& p : partsOf(planned))
    for (const std::optional<PlanCode>& code : {p.code, p.before, p.after})
      if (code) out.push_back(*code);
  return out;
}
/// Whether there is a loop, and all are native; or none is.
template <class T>
bool isNative(const T& planned) {
  const std::vector<PlanCode> code = codeOf(planned);
  return !code.empty() &&
         std::ranges::all_of(code, [](const PlanCode& c) { return c.state == PlanCode::State::kNative; });
}
template <class T>
bool isInterpreted(const T& planned) {
  const std::vector<PlanCode> code = codeOf(planned);
  return !code.empty() &&
         std::ranges::all_of(code, [](const PlanCode& c) { return c.state == PlanCode::State::kInterpreted; });
}

/// Results without tensors, and their bytes, of the function's plan.
template <class T>
size_t inBuffers(const T& planned) {
  return plansOf(planned).at(0).buffers;
}

}  // namespace shunt::test
