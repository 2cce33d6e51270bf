#include "kernels/pointwise/promote.h"

namespace shunt::elementwise {
namespace {

bool isNumber(const Argument& a) { return a.tensor == nullptr || a.tensor->is_wrapped_number(); }

ScalarType promoteDefined(ScalarType a, ScalarType b) {
  if (a == ScalarType::Undefined) return b;
  return b == ScalarType::Undefined ? a : promoteTypes(a, b);
}

ScalarType combineCategories(ScalarType higher, ScalarType lower) {
  if (higher == ScalarType::Undefined) return lower;
  if (lower == ScalarType::Undefined || isFloatingType(higher)) return higher;
  return higher == kBool || isFloatingType(lower) ? promoteDefined(higher, lower) : higher;
}

ScalarType resultType(const Request& request) {
  ScalarType with_dims = ScalarType::Undefined, zero_dim = with_dims, numbers = with_dims;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    if (((request.op.operands >> i) & 1) == 0) continue;
    const Argument& a = request.inputs[i];
    const bool number = isNumber(a);
    ScalarType dtype = dtypeOf(a);
    if (number && isFloatingType(dtype)) dtype = get_default_dtype();
    ScalarType& category = a.tensor != nullptr && a.tensor->dim() > 0 ? with_dims : number ? numbers : zero_dim;
    category = promoteDefined(category, dtype);
  }
  return combineCategories(with_dims, combineCategories(zero_dim, numbers));
}

bool sameDtypes(const Request& request, ScalarType dtype) {
  for (int i = 0; i < request.op.num_inputs; ++i)
    if (((request.op.operands >> i) & 1) != 0 && dtypeOf(request.inputs[i]) != dtype) return false;
  return true;
}

}  // namespace

ScalarType commonDtype(const Request& request) {
  if (request.common != ScalarType::Undefined) return request.common;
  const int first = std::countr_zero(request.op.operands);
  const ScalarType dtype = dtypeOf(request.inputs[first]);
  if (request.op.promotion == Promotion::kSelf) return dtype;
  if (request.op.promotion == Promotion::kSelfWithNumbers && isFloatingType(dtype) && hasNumber(request)) return dtype;
  const ScalarType common = sameDtypes(request, dtype) ? dtype : resultType(request);
  return request.op.promotion == Promotion::kIntToFloat && isIntegralType(common, true) ? get_default_dtype() : common;
}

void runCheck(const Request& request, const ScalarType* dtypes, ScalarType common) {
  if (request.op.check == nullptr) return;
  const auto& in = request.inputs;
  request.op.check({request.name, dtypes, request.scalars, common, {in[0].number, in[1].number, in[2].number}});
}

void storeNumber(const Scalar& number, ScalarType dtype, ScalarSlot& slot) {
  dispatchAllTypes(dtype, "number", [&]<class T>(std::type_identity<T>) {
    if (number.isFloatingPoint())
      storeRaw<T>(slot.bytes, cast<T>(number.toDouble()));
    else
      storeRaw<T>(slot.bytes, cast<T>(number.toLong()));
  });
}

void storeScalar(const Scalar& scalar, ScalarType common, ScalarSlot& slot) {
  dispatchAllTypes(common, "scalar", [&]<class T>(std::type_identity<T>) {
    storeRaw<opmath_t<T>>(slot.bytes, scalar.to<opmath_t<T>>());
  });
}

}  // namespace shunt::elementwise
