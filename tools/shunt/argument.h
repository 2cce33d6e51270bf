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

/// What stands behind a tensor on the CPU.
enum class Elements : uint8_t {
  kOnes,
  kNone,  // no memory, whatever its sizes: enough for dtypes, shapes and keys; nobody may read or write elements
};

/// Throws Mistake with the text and what it may be.
IValue parseArgument(const std::string& text, Elements elements);

/// "alpha=2": the name, empty where there is none, and the value.
std::pair<std::string, IValue> parseNamed(const std::string& text, Elements elements);

}  // namespace shunt::cli
