// Numbers on the left of C++ operators (shunt/ops.h).
#include <shunt/ops.h>

#include <string_view>

namespace shunt::detail {

// libtorch fills a tensor like `other` with the number and changes it in place. Here the number alone takes other's
// dtype: the result has the same elements and dtype, and the call is one operator.
Tensor left_operand(const char* name, const Scalar& number, const Tensor& other) {
  const ScalarType dtype = other.scalar_type();
  const Scalar converted = dispatchAllTypes(
      dtype, name, [&]<class T>(std::type_identity<T>) { return Scalar(number.toWithoutOverflow<T>()); });
  SHUNT_CHECK(std::string_view(name) != "div" || isFloatingType(dtype), name, ": result type ", get_default_dtype(),
              " can't be cast to the desired output type ", dtype,
              ": a number on the left of / takes the dtype of the "
              "tensor on its right. Convert the tensor to a floating-point dtype first");
  return wrapped_scalar_tensor(converted, other.device());
}

}  // namespace shunt::detail
