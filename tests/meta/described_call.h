// A call as two ways of making it are compared: its error, or all that can be seen of results and arguments but their
// elements.
//
// Values of one call; any thread.
#pragma once

#include <shunt/shunt.h>

#include <string>
#include <vector>

namespace meta {

struct DescribedCall {
  bool threw = false;
  std::string text;  // the error, or results and arguments afterwards
};

/// Runs the operator on `stack`, which holds the results afterwards unless it threw. `device` is that of the arguments.
DescribedCall describeCall(const shunt::OperatorHandle& op, shunt::Stack& stack, shunt::Device device);

/// The tensors of a stack, those of lists too, in order; undefined ones as well.
std::vector<shunt::Tensor> tensorsOf(const shunt::Stack& stack);

/// " Float[2, 1] strides 1 -": dtype, sizes, and the strides that lead to other elements.
std::string shapeOf(const shunt::Tensor& t);

/// Errors about elements, which tensors without data haven't got.
bool isAboutElements(const std::string& message);

}  // namespace meta
