// Arguments of a described call: text to IValue.
//
//   float32[2,3]  float32[]  float32[2,3]:grad  int64[4,4]:strided  float32[8]:meta,grad    tensors of ones
//   [float32[2],float32[2]]   lists of tensors     [1,2]  [0.5,1.0]  [true,false]   lists of numbers
//   3  2.5  true  none  float32 (a dtype)  cpu  meta  'text'
#pragma once

#include <shunt/core/ivalue.h>

#include <string>
#include <utility>

namespace shunt::cli {

/// Throws shunt::Error that shows the text and what it may be.
IValue parseArgument(const std::string& text);

/// "alpha=2": the name, empty where there is none, and the value.
std::pair<std::string, IValue> parseNamed(const std::string& text);

}  // namespace shunt::cli
