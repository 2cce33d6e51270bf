// A call of an elementwise operator as data, and the three ways to run it: new output, given output, in place.
//
// Requests refer to the caller's arguments and live on its stack. Functions may be called from any thread; tensors are
// the caller's to synchronise.
#pragma once

#include <shunt/elementwise/kernel_descriptor.h>
#include <shunt/tensor/tensor.h>

namespace shunt::elementwise {

/// One input: a tensor or a number. Neither: an undefined tensor.
struct Argument {
  TensorImpl* tensor = nullptr;
  const Scalar* number = nullptr;
};

/// A call of an elementwise operator, without its output. Refers to the caller's arguments.
struct Request {
  const KernelDescriptor& op;
  const char* name;
  Argument inputs[kMaxInputs] = {};
  const Scalar* scalars[kMaxScalars] = {};
  ScalarType common = ScalarType::Undefined;  // forces the common dtype
};

SHUNT_API Tensor runFunctional(const Request& request);
SHUNT_API void runOutRequest(const Request& request, Tensor& out);
SHUNT_API void runInplaceRequest(const Request& request, Tensor& self);

namespace detail {

inline void bind(Request& request, int i, const Tensor& tensor) {
  request.inputs[i].tensor = tensor.unsafeGetTensorImpl();
}
inline void bind(Request& request, int i, const Scalar& number) {
  const int inputs = request.op.num_inputs;
  if (i < inputs)
    request.inputs[i].number = &number;
  else
    request.scalars[i - inputs] = &number;
}

/// Fills `request` with arguments that live at least as long as it does.
template <class... Args>
SHUNT_ALWAYS_INLINE void bindAll(Request& request, int first, const Args&... args) {
  static_assert(((std::is_same_v<Args, Tensor> || std::is_same_v<Args, Scalar>) && ...),
                "a converted argument would dangle");
  int i = first;
  (bind(request, i++, args), ...);
}

}  // namespace detail

}  // namespace shunt::elementwise
