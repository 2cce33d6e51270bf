#include "kernels/rows/result_type.h"

#include <shunt/core/error.h>
#include <shunt/tensor/tensor.h>

namespace shunt::reduce {

ScalarType typeOfSum(const char* name, ScalarType self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(isIntegralType(self, true) ? kLong : self);
  if (!isSupportedType(type)) [[unlikely]]
    ::shunt::detail::throwNotImplementedFor(name, type);
  return type;
}

ScalarType typeOfMean(const char* name, ScalarType self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(self);
  SHUNT_CHECK(isFloatingType(type), name, "(): could not infer output dtype. ", dtype ? "Optional" : "Input",
              " dtype must be either a floating point or complex dtype. Got: ", type);
  return type;
}

ScalarType typeOfMoment(const char*, ScalarType self, std::optional<ScalarType> dtype) {
  SHUNT_CHECK(isFloatingType(self) && isFloatingType(dtype.value_or(self)),
              "std and var only support floating point and complex dtypes");
  return dtype.value_or(self);
}

ScalarType typeOfFloating(const char* name, ScalarType self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(isIntegralType(self, true) ? get_default_dtype() : self);
  SHUNT_CHECK(isFloatingType(type), name, "(): Expected floating point type for result tensor, but got: ", type);
  return type;
}

ScalarType typeOfInput(const char*, ScalarType self, std::optional<ScalarType>) { return self; }

ScalarType typeOfTruth(const char*, ScalarType self, std::optional<ScalarType>) {
  return self == kByte ? kByte : kBool;
}

}  // namespace shunt::reduce
