// The rules for the dtype of a reduction's result, of which each accumulator names one; they throw PyTorch's errors.
// Pure functions; any thread.
#pragma once

#include <shunt/tensor/scalar_type.h>

#include <optional>

namespace shunt::reduce {

/// Integers are added up as Long, unless the caller wants another type.
ScalarType typeOfSum(const char* name, ScalarType self, std::optional<ScalarType> dtype);
/// Floating types only, each with its operators' message.
ScalarType typeOfMean(const char* name, ScalarType self, std::optional<ScalarType> dtype);
ScalarType typeOfMoment(const char* name, ScalarType self, std::optional<ScalarType> dtype);
/// Integers become the default dtype.
ScalarType typeOfFloating(const char* name, ScalarType self, std::optional<ScalarType> dtype);
ScalarType typeOfInput(const char* name, ScalarType self, std::optional<ScalarType> dtype);
/// Byte for Byte, else Bool.
ScalarType typeOfTruth(const char* name, ScalarType self, std::optional<ScalarType> dtype);

}  // namespace shunt::reduce
