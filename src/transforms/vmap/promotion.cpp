#include "src/transforms/vmap/promotion.h"

#include <shunt/ops.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace shunt::levels {
namespace {

struct Operand {
  size_t position;
  ScalarType dtype;
  bool has_dims, value_has_dims, is_number;
};

/// Arguments that choose between others and have no part in the result's dtype.
bool isMask(const Argument& a) { return a.name == "condition" || a.name == "mask"; }

/// `masks`: which arguments are masks, as promotesAsOneSample() has it; nullopt: those with a mask's name.
std::vector<Operand> operandsOf(const BatchedCall& call, const Stack& values,
                                std::optional<uint32_t> masks = std::nullopt) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].isTensor() || !call.tensor(i).defined()) continue;
    if (masks ? (*masks >> i & 1) != 0 : isMask(call.schema.arguments()[i])) continue;
    const TensorImpl& t = *call.tensor(i).unsafeGetTensorImpl();
    operands.push_back({i, t.dtype(), t.dim() > 0, values[i].toTensor().dim() > 0, t.is_wrapped_number()});
  }
  return operands;
}

bool haveOneDtype(const std::vector<Operand>& operands) {
  return std::ranges::all_of(operands, [&](const Operand& o) { return o.dtype == operands[0].dtype; });
}

/// Undefined: none.
int category(ScalarType t) { return t == ScalarType::Undefined ? -1 : t == kBool ? 0 : isFloatingType(t) ? 2 : 1; }

struct Dtypes {
  ScalarType with_dims = ScalarType::Undefined, common = ScalarType::Undefined;
};

/// Of one sample, or of the values.
Dtypes dtypesOf(const std::vector<Operand>& operands, bool of_values) {
  ScalarType classes[3] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
  for (const Operand& o : operands) {
    ScalarType& of_class = classes[(of_values ? o.value_has_dims : o.has_dims) ? 0 : o.is_number ? 2 : 1];
    const ScalarType dtype = o.is_number && isFloatingType(o.dtype) ? get_default_dtype() : o.dtype;
    of_class = of_class == ScalarType::Undefined ? dtype : promoteTypes(of_class, dtype);
  }
  Dtypes result{classes[0], classes[0]};
  for (const ScalarType lower : {classes[1], classes[2]})
    if (category(lower) > category(result.common)) result.common = lower;
  return result;
}

/// Operators to which a cast of their operands makes a difference: div computes in floating point, so an integer must
/// not be cut to another's dtype first, and lerp refuses operands of other dtypes.
bool readsAsGiven(const BatchedCall& call, ScalarType common) {
  const std::string_view name = call.op.op().name();
  if (name == "aten::lerp" || name == "aten::lerp_") return true;
  if (!isIntegralType(common, true) || (name != "aten::div" && name != "aten::div_")) return false;
  const auto mode = call.schema.argumentIndexWithName("rounding_mode");
  return !mode || call.args[static_cast<size_t>(*mode)].isNone();
}

}  // namespace

ScalarType commonDtype(const BatchedCall& call) { return dtypesOf(operandsOf(call, call.args), false).common; }

bool mixesDtypes(const BatchedCall& call) { return !haveOneDtype(operandsOf(call, call.args)); }

bool promotesAsOneSample(const BatchedCall& call, const Stack& values, uint32_t masks) {
  const std::vector<Operand> operands = operandsOf(call, values, masks);
  return operands.empty() || haveOneDtype(operands) ||
         dtypesOf(operands, true).common == dtypesOf(operands, false).common;
}

void keepPromotion(const BatchedCall& call, Stack& values) {
  const std::vector<Operand> operands = operandsOf(call, values);
  if (operands.empty() || haveOneDtype(operands)) return;
  const Dtypes sample = dtypesOf(operands, false);
  if (dtypesOf(operands, true).common == sample.common) return;
  const bool dims_decide = category(sample.with_dims) == category(sample.common);
  if (dims_decide && readsAsGiven(call, sample.common)) return;
  for (const Operand& o : operands) {
    if (o.has_dims || o.is_number) continue;
    Tensor& value = values[o.position].toTensor();
    if (!dims_decide && !o.value_has_dims)
      value = ops::unsqueeze::call(value, 0);
    else if (dims_decide && o.value_has_dims && category(o.dtype) == category(sample.common))
      value = ops::to_dtype::call(value, sample.common, false, false, std::nullopt);
  }
}

}  // namespace shunt::levels
