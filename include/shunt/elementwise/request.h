// Request: a call of an elementwise operator as data, and three functions that run it: with a new output, with a given
// output, in place.
//
// A Request refers to the caller's arguments and lives on its stack. Any thread may call the functions; callers
// synchronise their use of the tensors.
#pragma once

#include <shunt/elementwise/kernel_descriptor.h>
#include <shunt/tensor/tensor.h>

namespace shunt::elementwise {

/// One input: a tensor or a number. With neither, it is an undefined tensor.
struct Argument {
  TensorImpl* tensor = nullptr;
  const Scalar* number = nullptr;
};

/// A call without its output. The caller's arguments must outlive it.
struct Request {
  const KernelDescriptor& op;
  const char* name;
  Argument inputs[kMaxInputs] = {};
  const Scalar* scalars[kMaxScalars] = {};
  ScalarType common = ScalarType::Undefined;  // if defined, it is the common dtype
};

/// Run the call: into a new tensor, into `out` (resized if needed), into `self`, which is also the first input. They
/// throw what the operator throws for wrong dtypes, shapes, devices, scalars and overlaps.
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

/// Fills `request`, from input `first` on, with arguments that live at least as long as it does.
template <class... Args>
SHUNT_ALWAYS_INLINE void bindAll(Request& request, int first, const Args&... args) {
  static_assert(((std::is_same_v<Args, Tensor> || std::is_same_v<Args, Scalar>) && ...),
                "a converted argument would dangle");
  int i = first;
  (bind(request, i++, args), ...);
}

}  // namespace detail

}  // namespace shunt::elementwise
